//! Runs the executor of the node's AWS network interfaces, and tells the rest of the daemon what it knows.
//!
//! ```text
//! the network is defined ─▶ who am I? (IMDS, or kept) ─▶ the executor ─┬─▶ the datapath: what the interfaces are
//!                                                                      ├─▶ conditions: enough addresses, EC2 answers
//! the kernel, the runtime ─▶ the second witness ──────────▶            └─▶ tenurectl, metrics: its status
//! ```

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_aws::executor::{Config, Executor, Handle, Parts, Status};
use tenure_aws::identity::Identity;
use tenure_aws::metadata::{Hint, Hints, Imds};
use tenure_aws::situation::NodeFacts;
use tenure_conditions::{Conditions, Report};
use tenure_engine::ports::Clock;
use tenure_engine::{Attending, Engine};
use tenure_netlink::NodeNetwork;
use tenure_runtime::Runtime;
use tenure_supervise::Part;
use tenure_types::{ConditionName, NetworkName, hold};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::timer::TokioTimer;
use crate::aws::{AskedLimits, Describing, Looking, ToldNode, Who, configured, ec2, follow_ranges, missing};
use crate::config;

/// How often to describe the interfaces to the datapath, and to look whether the node has what it must have, while something is missing.
const EVERY: Duration = Duration::from_secs(1);

/// The same while nothing is. The executor tells what changes at its own doing; a redefined network shows only then.
const AT_REST: Duration = Duration::from_secs(5);

/// The same while something is on its way, such as the link of a new interface.
const SOON: Duration = Duration::from_millis(100);

/// For how long that is so while nothing changes: what takes longer, such as a link that never comes, is not waited for as eagerly.
const IMPATIENT: Duration = Duration::from_secs(60);

/// How many requests in succession the metadata service must leave unanswered until that is said.
const SILENT: u32 = 3;

/// The inputs of the part.
pub(crate) struct AwsInputs {
    pub(crate) config: config::AwsTable,
    /// The configuration as it was reloaded last.
    pub(crate) in_force: watch::Receiver<Arc<config::Config>>,
    /// The API server's word about the node; nothing changes about it if that is not asked.
    pub(crate) told: watch::Receiver<ToldNode>,
    pub(crate) network: NetworkName,
    pub(crate) engine: Arc<Engine>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) runtime: Option<Runtime>,
    /// Handle to the executor, as long as one runs.
    pub(crate) handle: watch::Sender<Option<Handle>>,
    /// The node without its pods; nothing, as long as that is not known.
    pub(crate) node: watch::Sender<Option<Arc<NodeNetwork>>>,
}

/// The node's AWS network interfaces.
pub(crate) struct AwsPart {
    given: AwsInputs,
    /// Requests wait from the daemon's start on, and not only once the node knows who it is.
    attending: Option<Attending>,
    supply: Report,
    unreachable: Report,
    refused: Report,
    quarantine: Report,
    /// The VPC's ranges have changed, which the kernel must know.
    ranges_changed: Notify,
    /// Why the metadata service has not answered for a while. A `std::sync::Mutex`, held to read and to replace.
    metadata_silence: Mutex<Option<String>>,
}

impl AwsPart {
    pub(crate) fn build(given: AwsInputs, conditions: &Arc<Conditions>) -> Self {
        let report = |name| Report::new(conditions, name);
        let supply = report(ConditionName::SupplyMissing);
        // Until the ledger has been looked at.
        supply.wrong("the addresses of the node's interfaces are not known yet");
        let attending = Some(given.engine.attend(&given.network));
        Self {
            given,
            attending,
            supply,
            unreachable: report(ConditionName::CloudUnreachable),
            refused: report(ConditionName::CloudRefused),
            quarantine: report(ConditionName::CloudQuarantine),
            ranges_changed: Notify::new(),
            metadata_silence: Mutex::default(),
        }
    }

    /// Serves until the node turns out to be another than the checkpoint says.
    async fn serve(&self, attending: Attending) -> anyhow::Result<()> {
        let AwsInputs { config, network, engine, .. } = &self.given;
        let imds = Arc::new(Imds::new(config.imds_endpoint.as_deref())?);
        // What is known without anybody's answer: a node that restarts while EC2 is silent goes on as before.
        self.describe(None).await;
        self.look_at_supply().await;
        let definition = self.defined().await;
        let asking = Who { engine, network, metadata: &*imds };
        let (who, is_fresh) = asking.is_it(|why| self.unreachable.wrong(why)).await;
        let Identity { instance, instance_type, region, zone, vpc, mac, .. } = &who;
        tracing::info!(instance, instance_type, region, zone, %network, "the network is supplied by this instance's interfaces");
        let ec2 = ec2(config, &definition, region)?;
        let witness = Arc::new(Looking::new(Arc::clone(&self.given.clock), self.given.runtime.clone()));
        // What others use must be known before anything is taken for unused.
        witness.look().await;
        let parts = Parts {
            engine: Arc::clone(engine),
            ec2: Arc::clone(&ec2),
            metadata: Arc::clone(&imds) as _,
            clock: Arc::clone(&self.given.clock),
            timer: Arc::new(TokioTimer),
            witness: Arc::clone(&witness) as _,
        };
        let seed = self.given.clock.now().boot_ns ^ u64::from(std::process::id());
        let mut of = Config::new(network.clone(), instance, vpc, zone, seed);
        of.mac = Some(mac.clone());
        of.look_every = Duration::from_secs(config.look_seconds.into());
        of.window = Duration::from_secs(config.consistency_seconds.into());
        let executor = Executor::new(parts, of);
        let handle = executor.handle();
        // Before anything is planned: where interfaces are created, and whether, depends on it.
        handle.set_node(configured(
            instance_type,
            &self.given.told.borrow(),
            &self.given.in_force.borrow().aws,
        ));
        self.given.handle.send_replace(Some(handle.clone()));
        let know_limits = async {
            let asking = AskedLimits { engine, network, ec2: &ec2, instance_type };
            asking.limits(&handle).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            failure = executor.run() => return Err(failure.into()),
            () = witness.watch() => {}
            () = witness.watch_links() => {}
            () = until_attended(&handle, attending) => {}
            () = self.tell(&handle) => {}
            () = self.follow_hints(&imds, mac, &handle) => {}
            () = self.follow_node(instance_type, &handle) => {}
            () = know_limits => {}
            () = asking.is_another_than(&who), if !is_fresh => {}
        }
        Ok(())
    }

    /// Tells the executor of the node, and again when a reload has changed what the configuration says of it, or the API server says
    /// something else.
    async fn follow_node(&self, instance_type: &str, handle: &Handle) {
        let (mut in_force, mut told) = (self.given.in_force.clone(), self.given.told.clone());
        let mut known: Option<NodeFacts> = None;
        loop {
            let now = configured(instance_type, &told.borrow_and_update(), &in_force.borrow_and_update().aws);
            if known.as_ref() != Some(&now) {
                handle.set_node(now.clone());
                known = Some(now);
            }
            tokio::select! {
                () = changed(&mut in_force) => {}
                () = changed(&mut told) => {}
            }
        }
    }

    /// Waits until the network is defined; returns the attributes of its definition.
    async fn defined(&self) -> tenure_types::Attributes {
        loop {
            if let Some(book) = self.given.engine.book(&self.given.network).await {
                return book.network().attributes.clone();
            }
            self.supply.wrong(format!("network {} is not defined yet", self.given.network));
            sleep(EVERY).await;
        }
    }

    /// Tells the datapath and the operators what is known, whenever the executor has something new.
    async fn tell(&self, handle: &Handle) {
        let (mut before, mut since) = (None, Instant::now());
        let mut changes = handle.changes();
        loop {
            changes.mark_unchanged();
            let status = handle.status();
            let is_partial = self.describe(Some(&status)).await;
            let supplied = self.look_at_supply().await;
            self.report(&status);
            let intents: Vec<String> = status.intents.iter().map(|intent| intent.id.clone()).collect();
            let is_settled = !is_partial && supplied && intents.is_empty();
            let now = (is_partial, supplied, intents);
            if before.as_ref() != Some(&now) {
                (before, since) = (Some(now), Instant::now());
            }
            let wait = match is_settled {
                true => AT_REST,
                false if since.elapsed() < IMPATIENT => SOON,
                false => EVERY,
            };
            tokio::select! {
                _ = changes.changed() => {}
                () = self.ranges_changed.notified() => {}
                () = sleep(wait) => {}
            }
        }
    }

    /// Follows what the metadata service shows of the node while it runs. It is asked for one thing at a time.
    async fn follow_hints(&self, imds: &Imds, mac: &str, handle: &Handle) {
        let (mut hints, mut failures) = (Hints::new(imds, mac), 0_u32);
        loop {
            let answer = hints.next().await;
            failures = if answer.is_ok() { 0 } else { failures.saturating_add(1) };
            let silence = answer.as_ref().err().filter(|_| failures >= SILENT);
            *hold(&self.metadata_silence) =
                silence.map(|error| format!("the instance metadata service: {error}"));
            match answer.ok().flatten() {
                Some(Hint::Shown(part)) => handle.metadata_shows(&part),
                Some(Hint::Groups(groups)) => handle.groups_named(groups),
                Some(Hint::Ranges(ranges)) if follow_ranges(&self.given.engine, &ranges).await => {
                    self.ranges_changed.notify_one();
                }
                Some(Hint::Ranges(_)) | None => {}
            }
        }
    }

    /// Describes the interfaces to the datapath; returns whether something is still missing.
    async fn describe(&self, status: Option<&Status>) -> bool {
        let describing = Describing { engine: &self.given.engine, network: &self.given.network };
        match describing.describe(status).await {
            Ok(described) => {
                self.given.node.send_if_modified(|node| {
                    let is_new = node.as_deref() != Some(&described.node);
                    if is_new {
                        *node = Some(Arc::new(described.node));
                    }
                    is_new
                });
                described.is_partial
            }
            Err(why) => {
                tracing::warn!(why, "cannot describe the node's interfaces; they stay as they were");
                false
            }
        }
    }

    /// Reports whether the network has the addresses that it must have.
    async fn look_at_supply(&self) -> bool {
        let Some(book) = self.given.engine.book(&self.given.network).await else { return false };
        let missing = missing(&book, self.given.config.ready_addresses);
        match &missing {
            None => self.supply.well(),
            Some(why) => self.supply.wrong(why.clone()),
        }
        missing.is_none()
    }

    fn report(&self, status: &Status) {
        let metadata = hold(&self.metadata_silence).clone();
        let silent: Vec<String> = status.silence.clone().into_iter().chain(metadata).collect();
        match silent.as_slice() {
            [] => self.unreachable.well(),
            silent => self.unreachable.wrong(silent.join("; ")),
        }
        match &status.refusal {
            None => self.refused.well(),
            Some(why) => self.refused.wrong(why.clone()),
        }
        // Each has a reason of its own; the first is told, and all are in the status.
        match status.quarantine.as_slice() {
            [] => self.quarantine.well(),
            [first, others @ ..] => {
                let (net, interface, why) = (first.net, &first.interface, &first.why);
                let more = if others.is_empty() { String::new() } else { format!("; {} more", others.len()) };
                self.quarantine.wrong(format!("{net} of {interface}: {why}{more}"));
            }
        }
    }
}

/// Waits for another value, for ever if there will be none.
async fn changed<T>(values: &mut watch::Receiver<T>) {
    if values.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Attends to the network until the executor does, or has found that nothing may be changed.
async fn until_attended(handle: &Handle, attending: Attending) {
    let mut changes = handle.changes();
    let _ = changes.wait_for(|changes| *changes > 0).await;
    drop(attending);
    std::future::pending::<()>().await;
}

impl Part for AwsPart {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        let network = &self.given.network;
        loop {
            let attending = self.attending.take().unwrap_or_else(|| self.given.engine.attend(network));
            let ended = stop.run_until_cancelled(self.serve(attending)).await;
            self.given.handle.send_replace(None);
            if !matches!(ended, Some(Ok(()))) {
                return ended.unwrap_or(Ok(()));
            }
        }
    }
}
