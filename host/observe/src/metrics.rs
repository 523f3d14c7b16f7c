//! The metrics of a node, and their exposition for Prometheus.
//!
//! An observation costs an atomic addition and a shared lock, and allocates only for the first observation of a
//! series. Label values are static names, or cheap copies of names that were validated before, so that clients cannot
//! create arbitrary series. Gauges that are counted elsewhere are set on a scrape.

mod cloud;
mod cluster;
mod families;
mod labels;
mod meters;
mod networks;
mod pods;
mod pools;

use std::sync::atomic::Ordering;
use std::time::Duration;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use tenure_types::{AgentName, Condition, ConditionName, ErrorCode, Meter, PolicyName, PolicyStamp};

use self::cloud::CloudGauges;
use self::cluster::ClusterGauges;
use self::labels::{
    AgentLabels, ClaimLabels, ConditionLabels, FailureLabels, FoundLabels, Name, OperationLabels,
    PolicyLabels, RequestLabels, StepLabels, VerbLabels, VerdictLabels,
};
use self::meters::MeterGauges;
use self::networks::NetworkGauges;
use self::pods::PodGauges;
use self::pools::PoolGauges;

pub use self::cloud::CloudFigures;
pub use self::cluster::{ClusterFigures, ClusterPoolFigure};
pub use self::networks::NetworkFigures;
pub use self::pods::PodWatchFigures;
pub use self::pools::PoolFigures;

/// A family of histograms that share their buckets.
type Histograms<Labels> = Family<Labels, Histogram, fn() -> Histogram>;

/// The metrics of a node.
#[derive(Debug)]
pub struct Metrics {
    /// Encodes the series below, which it shares.
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    request_duration: Histograms<VerbLabels>,
    in_flight: Gauge,
    queue_depth: Gauge,
    networks: NetworkGauges,
    pools: PoolGauges,
    claims: Family<ClaimLabels, Gauge>,
    watches: Family<AgentLabels, Gauge>,
    policy_call_duration: Histograms<PolicyLabels>,
    policy_failures: Family<FailureLabels, Counter>,
    policy_silenced: Family<PolicyLabels, Counter>,
    policy_steps: Family<StepLabels, Counter>,
    policy_shadowed: Family<VerdictLabels, Counter>,
    meters: MeterGauges,
    decisions_recorded: Counter,
    decisions_dropped: Counter,
    sync_duration: Histogram,
    sync_failures: Counter,
    group_size: Histogram,
    log_bytes: Gauge,
    spool_replayed: Counter,
    spool_set_aside: Counter,
    recovery_findings: Family<FoundLabels, Counter>,
    datapath: Family<OperationLabels, Counter>,
    cloud: CloudGauges,
    pods: PodGauges,
    cluster: ClusterGauges,
    conditions: Family<ConditionLabels, Gauge>,
}

impl Metrics {
    /// Creates all metrics at zero, with the daemon's version.
    #[must_use]
    pub fn new(version: &'static str) -> Self {
        let metrics = Self {
            registry: Registry::with_prefix("tenure"),
            requests: Family::default(),
            // 0.25 ms to 16 s: the shim gives up after 20 s.
            request_duration: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.000_25, 2.0, 17))
            }),
            in_flight: Gauge::default(),
            queue_depth: Gauge::default(),
            networks: NetworkGauges::default(),
            pools: PoolGauges::default(),
            claims: Family::default(),
            watches: Family::default(),
            // 10 us to 1.3 s: an instance costs tens of microseconds, and no policy may take seconds.
            policy_call_duration: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.000_01, 2.0, 18))
            }),
            policy_failures: Family::default(),
            policy_silenced: Family::default(),
            policy_steps: Family::default(),
            policy_shadowed: Family::default(),
            meters: MeterGauges::default(),
            decisions_recorded: Counter::default(),
            decisions_dropped: Counter::default(),
            // 50 us to 3.3 s: from a battery-backed cache to a disk in trouble.
            sync_duration: Histogram::new(exponential_buckets(0.000_05, 2.0, 17)),
            sync_failures: Counter::default(),
            group_size: Histogram::new(exponential_buckets(1.0, 2.0, 9)),
            log_bytes: Gauge::default(),
            spool_replayed: Counter::default(),
            spool_set_aside: Counter::default(),
            recovery_findings: Family::default(),
            datapath: Family::default(),
            cloud: CloudGauges::default(),
            pods: PodGauges::default(),
            cluster: ClusterGauges::default(),
            conditions: Family::default(),
        };
        metrics.registered(version)
    }

    /// Registers each series with its name and help, which the book's reference repeats.
    fn registered(mut self, version: &'static str) -> Self {
        let registry = &mut self.registry;
        registry.register("build", "The daemon's version", Info::new([("version", version)]));
        registry.register(
            "requests",
            "Requests by verb; outcome is ok or the error's name",
            self.requests.clone(),
        );
        registry.register_with_unit(
            "request_duration",
            "Time from a request's arrival to its reply",
            Unit::Seconds,
            self.request_duration.clone(),
        );
        registry.register("requests_in_flight", "Requests being served", self.in_flight.clone());
        registry.register("requests_queued", "Requests waiting to be served", self.queue_depth.clone());
        self.networks.register(registry);
        registry.register(
            "claims",
            "Claims by agent and state: held, reserved since a reboot, or orphaned because the agent is not configured any more",
            self.claims.clone(),
        );
        registry.register("claim_watches", "Open watches of agents", self.watches.clone());
        self.pools.register(registry);
        registry.register_with_unit(
            "policy_call_duration",
            "Time of one call of a policy, its instance included",
            Unit::Seconds,
            self.policy_call_duration.clone(),
        );
        registry.register(
            "policy_failures",
            "Calls in which a policy trapped, exceeded a limit or returned an invalid answer, by kind",
            self.policy_failures.clone(),
        );
        registry.register(
            "policy_lines_dropped",
            "Log lines of a policy that were dropped because there were too many",
            self.policy_silenced.clone(),
        );
        registry.register(
            "policy_steps",
            "Steps of policies on networks: chosen, rolled-back, undone, refused, shadow-begun, shadow-ended, kept or state-replaced",
            self.policy_steps.clone(),
        );
        registry.register(
            "policy_shadowed",
            "Decisions that were compared with a shadow's, by verdict",
            self.policy_shadowed.clone(),
        );
        registry.register_collector(Box::new(self.meters.clone()));
        registry.register(
            "policy_decisions_recorded",
            "Decisions of policies that were recorded",
            self.decisions_recorded.clone(),
        );
        registry.register(
            "policy_decisions_dropped",
            "Decisions of policies that should have been recorded and were not",
            self.decisions_dropped.clone(),
        );
        registry.register_with_unit(
            "checkpoint_sync_duration",
            "Time of one sync of the checkpoint's log",
            Unit::Seconds,
            self.sync_duration.clone(),
        );
        registry.register("checkpoint_sync_failures", "Syncs that failed", self.sync_failures.clone());
        registry.register(
            "checkpoint_group_size",
            "Records that one sync made durable",
            self.group_size.clone(),
        );
        registry.register_with_unit(
            "checkpoint_log",
            "Size of the checkpoint's log",
            Unit::Bytes,
            self.log_bytes.clone(),
        );
        registry.register(
            "spool_replayed",
            "DELs that the plugin spooled while the daemon was away, and that were replayed",
            self.spool_replayed.clone(),
        );
        registry.register(
            "spool_set_aside",
            "Spooled DELs that could not be read",
            self.spool_set_aside.clone(),
        );
        registry.register(
            "recovery_findings",
            "Findings when the checkpoint was opened",
            self.recovery_findings.clone(),
        );
        registry.register(
            "datapath_operations",
            "Changes of the kernel for pods and interfaces, by what they changed; outcome is applied, repaired or failed",
            self.datapath.clone(),
        );
        registry.register_collector(Box::new(self.cloud.clone()));
        registry.register_collector(Box::new(self.pods.clone()));
        registry.register_collector(Box::new(self.cluster.clone()));
        registry.register("condition", "1 while the node is in a condition, else 0", self.conditions.clone());
        self
    }

    /// Counts an answered request.
    pub fn request(&self, verb: &'static str, outcome: Result<(), ErrorCode>, took: Duration) {
        let outcome = outcome.map_or_else(ErrorCode::name, |()| "ok");
        self.requests.get_or_create(&RequestLabels { verb, outcome }).inc();
        self.request_duration.get_or_create(&VerbLabels { verb }).observe(took.as_secs_f64());
    }

    /// Sets how many requests are being served and how many wait.
    pub fn load(&self, in_flight: usize, queued: usize) {
        self.in_flight.set(saturating(in_flight));
        self.queue_depth.set(saturating(queued));
    }

    /// Sets the figures of every network; the series of all others end.
    pub fn networks(&self, networks: impl IntoIterator<Item = NetworkFigures>) {
        self.networks.set(networks);
    }

    /// Sets the size and the use of every pool; the series of all others end.
    pub fn pools(&self, pools: impl IntoIterator<Item = PoolFigures>) {
        self.pools.set(pools);
    }

    /// Records the duration of a policy call, whether it succeeded or failed.
    pub fn policy_call(&self, policy: &PolicyName, took: Duration) {
        let labels = PolicyLabels { policy: Name(policy.clone()) };
        self.policy_call_duration.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Counts lines of a policy that were dropped from the log.
    pub fn policy_silenced(&self, policy: &PolicyName, lines: u64) {
        self.policy_silenced.get_or_create(&PolicyLabels { policy: Name(policy.clone()) }).inc_by(lines);
    }

    /// Counts a policy failure; `kind` is its stable name.
    pub fn policy_failed(&self, policy: &PolicyName, kind: &'static str) {
        self.policy_failures.get_or_create(&FailureLabels { policy: Name(policy.clone()), kind }).inc();
    }

    /// Counts a step of a policy on a network, by its stable name.
    pub fn policy_step(&self, step: &'static str) {
        self.policy_steps.get_or_create(&StepLabels { step }).inc();
    }

    /// Counts a decision that was compared with a shadow's, by the verdict's stable name.
    pub fn policy_shadowed(&self, verdict: &'static str) {
        self.policy_shadowed.get_or_create(&VerdictLabels { verdict }).inc();
    }

    /// Sets the meters of the policies that serve; the series of all others end.
    pub fn policy_meters(&self, meters: Vec<(PolicyStamp, Meter)>) {
        self.meters.set(meters);
    }

    /// Sets how many decisions were recorded, and how many were dropped.
    pub fn decisions(&self, (recorded, dropped): (u64, u64)) {
        self.decisions_recorded.inner().store(recorded, Ordering::Relaxed);
        self.decisions_dropped.inner().store(dropped, Ordering::Relaxed);
    }

    /// Records a sync that made a group of records durable, and the new length of the log.
    pub fn checkpoint_synced(&self, took: Duration, group: usize, log_bytes: u64) {
        self.sync_duration.observe(took.as_secs_f64());
        self.group_size.observe(f64::from(u32::try_from(group).unwrap_or(u32::MAX)));
        self.checkpoint_log(log_bytes);
    }

    /// Sets the length of the log.
    pub fn checkpoint_log(&self, log_bytes: u64) {
        self.log_bytes.set(saturating(log_bytes));
    }

    /// Counts a failed sync.
    pub fn checkpoint_failed(&self) {
        self.sync_failures.inc();
    }

    /// Counts spooled DELs that were replayed.
    pub fn spool_replayed(&self, count: u64) {
        self.spool_replayed.inc_by(count);
    }

    /// Counts a spooled DEL that could not be read.
    pub fn spool_set_aside(&self) {
        self.spool_set_aside.inc();
    }

    /// Counts a finding of a recovery by its short stable name: `clean`, `torn-tail`, `new-boot`.
    pub fn recovered(&self, found: &'static str) {
        self.recovery_findings.get_or_create(&FoundLabels { found }).inc();
    }

    /// Counts a change of the kernel by what it changed and what came of it: `applied`, `repaired` or `failed`.
    pub fn datapath(&self, subject: &'static str, outcome: &'static str) {
        self.datapath.get_or_create(&OperationLabels { subject, outcome }).inc();
    }

    /// Sets the claims by agent and state, and the watches by agent; all other series of them end.
    pub fn claims(
        &self,
        claims: impl IntoIterator<Item = ((AgentName, &'static str), usize)>,
        watches: impl IntoIterator<Item = (AgentName, usize)>,
    ) {
        self.claims.clear();
        for ((agent, state), number) in claims {
            let labels = ClaimLabels { agent: Name(agent), state };
            self.claims.get_or_create(&labels).set(saturating(number));
        }
        self.watches.clear();
        for (agent, number) in watches {
            self.watches.get_or_create(&AgentLabels { agent: Name(agent) }).set(saturating(number));
        }
    }

    /// Sets the figures of the node's cloud interfaces; until then, there are no such series.
    pub fn cloud(&self, figures: CloudFigures) {
        self.cloud.set(figures);
    }

    /// Sets the figures of the watch of this node's pods; until then, there are no such series.
    pub fn pods(&self, figures: PodWatchFigures) {
        self.pods.set(figures);
    }

    /// Sets the figures of the agent that leases blocks; until then, there are no such series.
    pub fn cluster(&self, figures: ClusterFigures) {
        self.cluster.set(figures);
    }

    /// Sets the conditions of the node; all others become 0.
    pub fn conditions(&self, wrong: &[Condition]) {
        for name in ConditionName::ALL {
            let there = wrong.iter().any(|condition| condition.name == *name);
            self.conditions.get_or_create(&ConditionLabels { name: name.name() }).set(i64::from(there));
        }
    }

    /// All metrics in the OpenMetrics text format.
    #[must_use]
    pub fn exposition(&self) -> String {
        let mut out = String::new();
        // Writing to a string fails only if a value's own formatting does, and ours are names and numbers.
        if text::encode(&mut out, &self.registry).is_err() {
            tracing::error!("cannot encode all metrics");
        }
        out
    }
}

/// A count as a gauge value.
fn saturating(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
