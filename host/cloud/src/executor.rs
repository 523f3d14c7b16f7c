//! Carrying out what policies plan: the one part of this crate that calls EC2 and changes the ledger.
//!
//! ```text
//!  demand, timer, an intent's end ──▶ plan ──▶ guards ──▶ intents, durable ──▶ a task each ──▶ done or undone
//!                                       ▲                                            │
//!  timer, a hint ──▶ look at EC2 ──▶ seen, and the ledger's supply reconciled ◀──────┘ answers
//! ```
//!
//! One loop decides; looks and intents are tasks of their own, so that a slow detach delays nothing. Intents on the same
//! interface run one after the other. Dropping the future of [`Executor::run`] drops all of them: what they have reached is in the ledger,
//! and the next run goes on from there. What is known is behind one `std::sync::Mutex`, which is never held across a
//! wait.

mod calls;
mod carry;
mod core;
mod ending;
mod explain;
mod gather;
mod gathered;
mod ids;
mod look;
mod order;
mod plan;
mod queue;
mod show;
mod state;
mod status;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tenure_engine::ports::Clock;
use tenure_types::{NetworkName, Result};
use tokio::task::JoinSet;

use self::core::Core;
use self::queue::Queue;
use crate::port::{Ec2, Limits};
use crate::situation::NodeState;
use crate::witness::Witness;

pub use self::explain::{Explained, PoolStatus};
pub use self::status::{IntentStatus, InterfaceStatus, NetStatus, PlanStatus, Status};

/// Waits. Virtual time needs a port for it.
pub trait Timer: Send + Sync + 'static {
    /// Waits so long.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// What an executor works with.
#[derive(Clone)]
pub struct Parts {
    /// The engine, whose plans it carries out.
    pub engine: Arc<Engine>,
    /// EC2.
    pub ec2: Arc<dyn Ec2>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Waits by that clock.
    pub timer: Arc<dyn Timer>,
    /// The second witness.
    pub witness: Arc<dyn Witness>,
}

/// How an executor works.
#[derive(Debug, Clone)]
pub struct Config {
    /// The network whose plans it carries out.
    pub network: NetworkName,
    /// The instance's id.
    pub instance: String,
    /// The VPC's id.
    pub vpc: String,
    /// The availability zone.
    pub zone: String,
    /// What the instance type can have, if that is known; [`Executor::handle`] takes it later as well.
    pub limits: Option<Limits>,
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

/// How often a plan is made although the last one found nothing to do, and nothing has changed since but the time.
const PLAN_AT_REST: Duration = Duration::from_secs(30);

/// How often a plan is made while requests wait: something may have cooled down.
const PLAN_FOR_DEMAND: Duration = Duration::from_secs(1);

/// How long further requests are waited for, so that one plan serves them all.
const GATHER: Duration = Duration::from_millis(20);

/// Carries out the plans of one network.
pub struct Executor(Arc<Core>);

/// What others may ask of a running executor, and tell it.
#[derive(Clone)]
pub struct Handle(Arc<Core>);

/// The end of a task.
enum Ended {
    /// EC2 was asked.
    Looked,
    /// An intent on this interface ended, or one that makes one.
    Carried(Option<String>),
}

impl Executor {
    /// An executor that has not begun.
    #[must_use]
    pub fn new(parts: Parts, config: Config) -> Self {
        Self(Arc::new(Core::new(parts, config)))
    }

    /// For those who ask about it while it runs.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.0))
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        let core = self.0;
        core.expect_the_ledgers().await;
        let (mut tasks, mut queue) = (JoinSet::new(), Queue::default());
        core.queue(&mut queue, core.open(), true).await;
        let (mut next_look, mut next_plan) = (core.now(), core.now());
        let (mut is_looking, mut attending) = (false, None);
        loop {
            // Where nothing ever changes, nobody need wait.
            attending = match core.state().settings.fixed {
                true => None,
                false => attending.or_else(|| Some(core.engine.attend())),
            };
            if !is_looking && core.now() >= next_look {
                is_looking = true;
                let core = Arc::clone(&core);
                tasks.spawn(async move {
                    core.look().await;
                    Ended::Looked
                });
            }
            if core.now() >= next_plan && core.may_plan() {
                let begun = if core.is_at_rest().await { Vec::new() } else { core.plan().await };
                core.queue(&mut queue, begun, false).await;
                let waits = core.waiting() > 0;
                next_plan = core.now() + if waits { PLAN_FOR_DEMAND } else { core.config.plan_every };
            }
            for (intent, is_resumed, key) in queue.ready() {
                let core = Arc::clone(&core);
                tasks.spawn(async move {
                    core.carry(intent, is_resumed).await;
                    Ended::Carried(key)
                });
            }
            let now = core.now();
            // As long as there is nothing to plan with, a look's end is waited for.
            let plan_at = if core.may_plan() { next_plan } else { now + core.config.plan_every };
            let next = if is_looking { plan_at } else { plan_at.min(next_look) };
            let wait = next.saturating_sub(now).max(Duration::from_millis(1));
            tokio::select! {
                Some(ended) = tasks.join_next() => match ended {
                    Ok(Ended::Looked) => {
                        is_looking = false;
                        core.state().rests = None;
                        next_look = core.now() + core.until_next_look();
                        next_plan = core.now();
                    }
                    Ok(Ended::Carried(key)) => {
                        queue.ended(key.as_deref());
                        // Whoever waits is served at once. What is merely to be kept warm has time until the next plan, so
                        // that one call serves the pods of several seconds.
                        if core.waiting() > 0 {
                            next_plan = core.now();
                        }
                    }
                    // A task that panicked: its intent stays open, and is carried on after a restart.
                    Err(error) => tracing::error!(%error, "a task of the executor failed"),
                },
                () = core.engine.demanded() => {
                    core.timer.sleep(GATHER).await;
                    next_plan = core.now();
                }
                () = core.look_again.notified() => next_look = core.now(),
                () = core.timer.sleep(wait) => {}
            }
        }
    }
}

impl Handle {
    /// What is known and what is being done.
    #[must_use]
    pub fn status(&self) -> Status {
        self.0.status()
    }

    /// The network whose plans are carried out.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        &self.0.config.network
    }

    /// Has the policy plan now, and begins nothing: what would begin, what would be refused, and what that is made from.
    ///
    /// # Errors
    /// `NoCloud` if the network's policy does not plan, `NotReady` before EC2 has said what the node has, and what the policy fails
    /// with. That nothing can be planned is no error, but an answer.
    pub async fn explain(&self) -> Result<Explained> {
        self.0.explain().await
    }

    /// Something hints at a change, such as the instance's metadata or a new link: EC2 is asked at once. Nothing else is
    /// concluded from it.
    pub fn look_again(&self) {
        self.0.look_again.notify_one();
    }

    /// Tells what the rest of the daemon knows of the node.
    pub fn set_node(&self, node: NodeState) {
        let mut state = self.0.state();
        state.node = node;
        state.rests = None;
    }

    /// Tells what the instance type can have.
    pub fn set_limits(&self, limits: Limits) {
        let mut state = self.0.state();
        state.limits = Some(limits);
        state.rests = None;
    }
}
