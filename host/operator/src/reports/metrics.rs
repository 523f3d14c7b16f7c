//! The metrics of an operator.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use tenure_cluster::client::ApiCallError;

use super::EventReason;

/// Why an operator calls the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteCause {
    /// A block for a node that wants one.
    Grant,
    /// A lost lease.
    Reclaim,
    /// A block is asked back, or no longer.
    Mark,
    /// A lease ends.
    Release,
    /// A node looks dead, or is back.
    Fence,
    /// The operator's half of a NodeIPAM.
    Hint,
    /// The status or the finalizer of a pool.
    Pool,
    /// The ranges of a group.
    Space,
    /// A node that is ready for pods.
    Taint,
    /// A check that the store is the one that was read.
    Version,
    /// The Lease of the leader.
    Election,
    /// The address of a claim.
    Claim,
}

impl WriteCause {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Grant => "grant",
            Self::Reclaim => "reclaim",
            Self::Mark => "mark",
            Self::Release => "release",
            Self::Fence => "fence",
            Self::Hint => "hint",
            Self::Pool => "pool",
            Self::Space => "space",
            Self::Taint => "taint",
            Self::Version => "version",
            Self::Election => "election",
            Self::Claim => "claim",
        }
    }
}

/// The number of blocks of a pool in one family and phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockCount {
    /// The pool's name; empty for blocks whose pool is gone.
    pub pool: String,
    /// Whether the family is IPv6.
    pub is_ipv6: bool,
    /// `leased`, `marked`, `quarantined`, `orphaned` or `free`.
    pub phase: &'static str,
    /// The number.
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BlockLabels {
    pool: String,
    family: &'static str,
    phase: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    answer: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ApiCallLabels {
    verb: &'static str,
    cause: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchedKindLabels {
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    reason: &'static str,
    outcome: &'static str,
}

/// The metrics. A clone shares them.
#[derive(Debug, Clone)]
pub struct OperatorMetrics(Arc<OperatorSeries>);

#[derive(Debug)]
struct OperatorSeries {
    registry: Registry,
    blocks: Family<BlockLabels, Gauge>,
    answers: Family<AnswerLabels, Counter>,
    grant_wait: Histogram,
    requests: Family<ApiCallLabels, Counter>,
    interruptions: Family<WatchedKindLabels, Counter>,
    events: Family<EventLabels, Counter>,
    unreadable: Gauge,
    view_age: Gauge,
    leader: Gauge,
    /// The time of the last complete view, in seconds since boot, plus one; 0 before the first.
    viewed: AtomicU64,
}

impl Default for OperatorMetrics {
    fn default() -> Self {
        let series = OperatorSeries {
            registry: Registry::with_prefix("tenure_operator"),
            blocks: Family::default(),
            answers: Family::default(),
            // 10 ms to 82 s, and a bucket for nodes that wait for a pool to grow.
            grant_wait: Histogram::new(exponential_buckets(0.01, 2.0, 14)),
            requests: Family::default(),
            interruptions: Family::default(),
            events: Family::default(),
            unreadable: Gauge::default(),
            view_age: Gauge::default(),
            leader: Gauge::default(),
            viewed: AtomicU64::new(0),
        };
        Self(Arc::new(series.registered()))
    }
}

impl OperatorSeries {
    /// Registers each series with its name and help, which the book repeats.
    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The operator's version", version);
        let blocks = "Blocks by pool, family and phase: leased, marked, quarantined, orphaned or free";
        registry.register("blocks", blocks, self.blocks.clone());
        let answers = "Marks by what came of them: ready, cordoned, refused or unanswered";
        registry.register("marks", answers, self.answers.clone());
        registry.register_with_unit(
            "grant_wait",
            "Time from the pass that saw a node want a block to the block's lease",
            Unit::Seconds,
            self.grant_wait.clone(),
        );
        let requests = "Calls of the API server by verb, cause and outcome; watches are not counted";
        registry.register("api_requests", requests, self.requests.clone());
        let interruptions = "Interruptions of a watch, by the kind of object";
        registry.register("watch_restarts", interruptions, self.interruptions.clone());
        let events = "Events by reason and outcome: written, repeated within the hour, dropped or failed";
        registry.register("events", events, self.events.clone());
        let unreadable = "Objects that this version cannot read";
        registry.register("objects_unreadable", unreadable, self.unreadable.clone());
        registry.register_with_unit(
            "view_age",
            "Time since the leader last had a complete view of the cluster; -1 before the first",
            Unit::Seconds,
            self.view_age.clone(),
        );
        registry.register("leader", "1 on the operator that leads", self.leader.clone());
        self
    }
}

impl OperatorMetrics {
    /// Sets the number of blocks; all other series of them end.
    pub fn blocks(&self, counts: impl IntoIterator<Item = BlockCount>) {
        let mut sums: BTreeMap<(String, bool, &'static str), u64> = BTreeMap::new();
        for BlockCount { pool, is_ipv6, phase, count } in counts {
            *sums.entry((pool, is_ipv6, phase)).or_default() += count;
        }
        self.0.blocks.clear();
        for ((pool, is_ipv6, phase), count) in sums {
            let labels = BlockLabels { pool, family: if is_ipv6 { "IPv6" } else { "IPv4" }, phase };
            self.0.blocks.get_or_create(&labels).set(count.try_into().unwrap_or(i64::MAX));
        }
    }

    /// Counts what came of a mark: `ready`, `cordoned`, `refused` or `unanswered`.
    pub fn mark(&self, answer: &'static str) {
        self.0.answers.get_or_create(&AnswerLabels { answer }).inc();
    }

    /// Notes how long a node waited for a block.
    pub fn granted(&self, waited: Duration) {
        self.0.grant_wait.observe(waited.as_secs_f64());
    }

    /// Makes a call, and counts it.
    ///
    /// # Errors
    /// The call's own.
    pub async fn counted<T>(
        &self,
        verb: &'static str,
        cause: WriteCause,
        call: impl Future<Output = Result<T, ApiCallError>>,
    ) -> Result<T, ApiCallError> {
        let result = call.await;
        let outcome = match &result {
            Ok(_) => "ok",
            Err(error) if error.is_conflict() || error.is_already_exists() => "conflict",
            Err(error) if error.is_not_found() => "missing",
            Err(ApiCallError::Deadline) => "deadline",
            Err(_) => "error",
        };
        self.0.requests.get_or_create(&ApiCallLabels { verb, cause: cause.as_str(), outcome }).inc();
        result
    }

    /// Counts an interruption of the watch of a kind.
    pub fn interrupted(&self, kind: &str) {
        self.0.interruptions.get_or_create(&WatchedKindLabels { kind: kind.to_owned() }).inc();
    }

    /// Counts an event by what became of it.
    pub fn event(&self, reason: EventReason, outcome: &'static str) {
        self.0.events.get_or_create(&EventLabels { reason: reason.as_str(), outcome }).inc();
    }

    /// Notes a complete view, and how many objects of it cannot be read.
    pub fn viewed(&self, now: Duration, unreadable: usize) {
        self.0.viewed.store(now.as_secs() + 1, Ordering::Relaxed);
        self.0.unreadable.set(unreadable.try_into().unwrap_or(i64::MAX));
    }

    /// The time since the last complete view; `None` before the first.
    #[must_use]
    pub fn view_age(&self, now: Duration) -> Option<Duration> {
        let at = self.0.viewed.load(Ordering::Relaxed).checked_sub(1)?;
        Some(Duration::from_secs(now.as_secs().saturating_sub(at)))
    }

    /// Notes that this operator leads, or no longer.
    pub fn leads(&self, leads: bool) {
        self.0.leader.set(i64::from(leads));
    }

    /// Whether this operator leads.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0.leader.get() == 1
    }

    /// All metrics in the OpenMetrics text format.
    #[must_use]
    pub fn exposition(&self, now: Duration) -> String {
        let age = self.view_age(now).map_or(-1, |age| i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
        self.0.view_age.set(age);
        let mut out = String::new();
        // Writing to a string fails only if a value's own formatting does, and ours are names and numbers.
        if text::encode(&mut out, &self.0.registry).is_err() {
            tracing::error!("cannot encode all metrics");
        }
        out
    }
}
