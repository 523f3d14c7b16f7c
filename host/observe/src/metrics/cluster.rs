//! The figures of the agent that leases blocks of a cluster. A node without blocks of a cluster has no such series.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use tenure_types::hold;

use super::families::FamilyEncoder;

/// A pool of the cluster in one family, and a count of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterPoolFigure {
    /// The AddressPool's name.
    pub pool: String,
    /// `IPv4` or `IPv6`.
    pub family: &'static str,
    /// The state of its blocks.
    pub state: &'static str,
    /// The number of blocks.
    pub count: u64,
}

/// The figures of the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterFigures {
    /// Blocks by pool, family and state.
    pub blocks: Vec<ClusterPoolFigure>,
    /// For how long each pool and family has waited for a block; zero if it does not.
    pub waits: Vec<(String, &'static str, Duration)>,
    /// The slowest lease since the start.
    pub slowest: Duration,
    /// Writes of the node's object since the start.
    pub writes: u64,
    /// Failed calls of the API server since the start, by what they were for.
    pub failures: Vec<(&'static str, u64)>,
    /// Interruptions of the watch of the node's object since the start.
    pub interruptions: u64,
    /// Whether the watch shows the object as it is.
    pub is_watched: bool,
}

/// The figures as of the last scrape.
#[derive(Debug, Clone, Default)]
pub(super) struct ClusterGauges(Arc<Mutex<Option<Arc<ClusterFigures>>>>);

impl ClusterGauges {
    /// Replaces all figures.
    pub(super) fn set(&self, figures: ClusterFigures) {
        *hold(&self.0) = Some(Arc::new(figures));
    }
}

impl Collector for ClusterGauges {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let figures = hold(&self.0).clone();
        let Some(figures) = figures else { return Ok(()) };
        let mut families = FamilyEncoder::new("cluster", encoder);
        families.gauges(
            "blocks",
            "Blocks that the node holds; state is open, cordoned, frozen, doubted or contested",
            figures.blocks.iter().map(|of| {
                ([("pool", of.pool.as_str()), ("family", of.family), ("state", of.state)], of.count)
            }),
        )?;
        families.gauges(
            "demand_waits_seconds",
            "The time for which a pool has waited for a block; 0 if it does not",
            figures.waits.iter().map(|(pool, family, waits)| {
                ([("pool", pool.as_str()), ("family", *family)], waits.as_secs())
            }),
        )?;
        families.age("lease_slowest", "The slowest lease of a block since the start", figures.slowest)?;
        families.counter("writes", "Writes of the node's NodeIPAM", figures.writes)?;
        families.counters(
            "calls_failed",
            "Failed calls of the API server, by what they were for",
            figures.failures.iter().map(|(call, count)| ([("call", *call)], *count)),
        )?;
        let help = "Interruptions of the watch of the node's NodeIPAM";
        families.counter("watch_interruptions", help, figures.interruptions)?;
        let help = "Whether the watch shows the node's NodeIPAM as it is";
        families.gauge("watched", help, usize::from(figures.is_watched))
    }
}
