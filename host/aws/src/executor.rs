//! The executor of AWS interfaces: the wing that calls EC2, with the executor that every wing has.
//!
//! What is known of EC2 is behind one `std::sync::Mutex`, which is never held across a wait.

mod action;
mod agreement;
mod calls;
mod carry;
mod core;
mod gather;
mod groups;
mod look;
mod order;
mod questions;
mod show;
mod state;
mod status;
mod supply;
mod trouble;
mod wing;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tenure_effects::Tools;
use tenure_engine::Engine;
use tenure_engine::ports::Clock;
use tenure_types::{NetworkName, Result};
use tokio::sync::watch;

use self::core::{AwsCore, CoreParts};
use crate::metadata::{InstanceMetadata, ShownPart};
use crate::port::{CallError, Ec2, InstanceLimits};
use crate::situation::NodeFacts;
use crate::witness::UseWitness;

pub use self::status::{InterfaceStatus, NetStatus, Status};
pub use tenure_effects::{Explained, IntentStatus, PlanStatus, PoolStatus, TaskFailure, Timer};

/// The ports and settings of an executor.
#[derive(Clone)]
pub struct Parts {
    /// The engine, whose plans it carries out.
    pub engine: Arc<Engine>,
    /// EC2.
    pub ec2: Arc<dyn Ec2>,
    /// The metadata service, for what EC2 must not be asked.
    pub metadata: Arc<dyn InstanceMetadata>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Waits by that clock.
    pub timer: Arc<dyn Timer>,
    /// The second witness.
    pub witness: Arc<dyn UseWitness>,
}

/// How an executor works.
#[derive(Debug, Clone)]
pub struct Config {
    /// The network whose plans it carries out.
    pub network: NetworkName,
    /// The instance's id.
    pub instance: String,
    /// Hardware address of this machine's primary interface, in lower case with colons, if that is known: an answer of EC2 that shows
    /// another does not count.
    pub mac: Option<String>,
    /// The VPC's id.
    pub vpc: String,
    /// The availability zone.
    pub zone: String,
    /// The limits of the instance type, if known; [`Executor::handle`] can provide them later.
    pub limits: Option<InstanceLimits>,
    /// How long EC2's answers may lag behind its own.
    pub window: Duration,
    /// How often EC2 is asked what the node has.
    pub look_every: Duration,
    /// How often a plan is made although nothing has happened.
    pub plan_every: Duration,
    /// The fewest addresses of each pool that the node keeps.
    pub floor: u32,
    /// The seed of jitter and ids: another one for each start.
    pub seed: u64,
}

impl Config {
    /// The usual times, for an instance.
    #[must_use]
    pub fn new(network: NetworkName, instance: &str, vpc: &str, zone: &str, seed: u64) -> Self {
        Self {
            network,
            instance: instance.to_owned(),
            mac: None,
            vpc: vpc.to_owned(),
            zone: zone.to_owned(),
            limits: None,
            window: Duration::from_secs(60),
            look_every: Duration::from_secs(60),
            plan_every: Duration::from_secs(5),
            floor: 1,
            seed,
        }
    }
}

/// Carries out the plans of one network.
pub struct Executor(tenure_effects::Executor<AwsCore>);

/// The call by which somebody else learns the limits of the instance type.
const LIMITS: &str = "DescribeInstanceTypes";

/// A handle to a running executor, for queries and notifications.
#[derive(Clone)]
pub struct Handle(tenure_effects::Handle<AwsCore>);

impl Executor {
    /// An executor that has not begun.
    #[must_use]
    pub fn new(parts: Parts, config: Config) -> Self {
        let Parts { engine, ec2, metadata, clock, timer, witness } = parts;
        let tools = Tools::new(engine, config.network.clone(), clock, timer);
        let general = tenure_effects::Config {
            node: config.instance.clone(),
            plan_every: config.plan_every,
            seed: config.seed,
        };
        let core = AwsCore::new(tools.clone(), CoreParts { ec2, metadata, witness }, config);
        Self(tenure_effects::Executor::new(tools, core, general))
    }

    /// A handle, to ask about it while it runs.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle(self.0.handle())
    }

    /// Works until it is dropped; returns only if one of its tasks panicked.
    pub async fn run(self) -> TaskFailure {
        self.0.run().await
    }
}

impl Handle {
    /// Returns the known facts and the work in progress.
    #[must_use]
    pub fn status(&self) -> Status {
        self.0.wing().status(self.0.progress())
    }

    /// Counts what may have changed the status: looks at EC2, steps and ends of intents, and plans.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes()
    }

    /// The network whose plans are carried out.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        self.0.network()
    }

    /// Has the policy plan now, and begins nothing: what would begin, what would be refused, and what that is made from.
    ///
    /// # Errors
    /// `NoPlan` if the network's policy does not plan, `NotReady` before EC2 has said what the node has, and what the policy fails
    /// with. That nothing can be planned is an answer, and not an error.
    pub async fn explain(&self) -> Result<Explained> {
        self.0.explain().await
    }

    /// Has EC2 asked at once, because something hints at a change, such as a new link. Nothing else is concluded from it.
    pub fn look_again(&self) {
        self.0.wing().hint();
    }

    /// Tells part of what the metadata service shows of the interfaces. If it differs from what EC2 has shown, and no change of this node
    /// explains that, EC2 is asked at once; while all parts agree, EC2 is asked more rarely.
    pub fn metadata_shows(&self, shown: &ShownPart) {
        self.0.wing().hear_of_interfaces(shown);
    }

    /// Tells the security groups of the primary interface, as the metadata service names them. If EC2 shows the same, the other interfaces
    /// of this node get them.
    pub fn groups_named(&self, groups: BTreeSet<String>) {
        self.0.wing().hear_groups(groups);
    }

    /// Tells what the rest of the daemon knows of the node.
    pub fn set_node(&self, node: NodeFacts) {
        self.0.wing().state().node = node;
        self.0.plan_again();
    }

    /// Has the policy plan now, and waits for that, so that the status and an explained plan agree.
    pub async fn plan_now(&self) {
        self.0.plan_now().await;
    }

    /// Tells that EC2 has not said what the instance type can have.
    pub fn limits_failed(&self, error: &CallError) {
        self.0.wing().hear_of_failure(error);
    }

    /// Tells what the instance type can have.
    pub fn set_limits(&self, limits: InstanceLimits) {
        self.0.wing().hear_of_success(LIMITS);
        self.0.wing().state().set_limits(limits);
        self.0.plan_again();
    }
}
