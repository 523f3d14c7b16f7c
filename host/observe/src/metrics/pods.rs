//! The figures of the watch of this node's pods. A node that does not ask the API server has no such series.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use tenure_types::hold;

use super::families::FamilyEncoder;

/// The figures of the watch of this node's pods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PodWatchFigures {
    /// Pods with an address that the API server's watch lacks.
    pub missing: usize,
    /// The longest time that one of them has been missing.
    pub oldest: Duration,
    /// Questions about such pods that got no answer, since the start.
    pub retries: u64,
    /// Interruptions of the watch, since the start.
    pub interruptions: u64,
    /// Events on pods that could not be written, since the start.
    pub events_lost: u64,
}

/// The figures as of the last scrape.
#[derive(Debug, Clone, Default)]
pub(super) struct PodGauges(Arc<Mutex<Option<PodWatchFigures>>>);

impl PodGauges {
    /// Replaces all figures.
    pub(super) fn set(&self, figures: PodWatchFigures) {
        *hold(&self.0) = Some(figures);
    }
}

impl Collector for PodGauges {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let figures = *hold(&self.0);
        let Some(figures) = figures else { return Ok(()) };
        let mut families = FamilyEncoder::new("pods", encoder);
        families.gauge(
            "missing",
            "Pods with an address that the API server does not list",
            figures.missing,
        )?;
        families.age("missing_oldest", "The longest time that a pod has been missing", figures.oldest)?;
        let help = "Questions about missing pods that the API server did not answer";
        families.counter("unanswered", help, figures.retries)?;
        families.counter(
            "watch_interruptions",
            "Interruptions of the watch of pods",
            figures.interruptions,
        )?;
        families.counter("events_lost", "Events on pods that could not be written", figures.events_lost)
    }
}
