//! The figures of a node's cloud interfaces.
//!
//! They are counted where the interfaces are managed and set on a scrape as a whole. A node without cloud interfaces has no
//! such series.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use tenure_types::hold;

use super::families::FamilyEncoder;

/// The figures of a node's cloud interfaces. All names are static.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloudFigures {
    /// Calls of the cloud, by call and outcome: `ok`, or the kind of the failure.
    pub calls: Vec<(&'static str, &'static str, u64)>,
    /// Ended intents, by kind and outcome: `done` or `undone`.
    pub intents: Vec<(&'static str, &'static str, u64)>,
    /// Interfaces, by how sure it is that they are there.
    pub interfaces: Vec<(&'static str, u64)>,
    /// Addresses on interfaces, by state.
    pub addresses: Vec<(&'static str, u64)>,
    /// Intents that have not ended.
    pub open: usize,
    /// Addresses and prefixes in quarantine.
    pub quarantined: usize,
    /// Effects of the last plan that were refused.
    pub refused: usize,
    /// The age of the cloud's last answer that counts; `None` as long as there is none.
    pub confirmed_age: Option<Duration>,
}

/// The figures as of the last scrape.
#[derive(Debug, Clone, Default)]
pub(super) struct CloudGauges(Arc<Mutex<Option<Arc<CloudFigures>>>>);

impl CloudGauges {
    /// Replaces all figures.
    pub(super) fn set(&self, figures: CloudFigures) {
        *hold(&self.0) = Some(Arc::new(figures));
    }
}

impl Collector for CloudGauges {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let figures = hold(&self.0).clone();
        let Some(figures) = figures else { return Ok(()) };
        let CloudFigures { calls, intents, interfaces, addresses, .. } = &*figures;
        let mut families = FamilyEncoder::new("cloud", encoder);
        families.counters(
            "calls",
            "Calls of the cloud; outcome is ok or the kind of the failure",
            calls.iter().map(|(call, outcome, count)| ([("call", *call), ("outcome", *outcome)], *count)),
        )?;
        families.counters(
            "intents",
            "Intents that have ended; outcome is done or undone",
            intents.iter().map(|(kind, outcome, count)| ([("kind", *kind), ("outcome", *outcome)], *count)),
        )?;
        families.gauges(
            "interfaces",
            "Interfaces, by how sure it is that they are there",
            interfaces.iter().map(|(standing, count)| ([("standing", *standing)], *count)),
        )?;
        families.gauges(
            "addresses",
            "Addresses on interfaces, by state",
            addresses.iter().map(|(state, count)| ([("state", *state)], *count)),
        )?;
        families.gauge("intents_open", "Intents that have not ended", figures.open)?;
        families.gauge(
            "quarantined",
            "Addresses and prefixes that the cloud does not show, and that may be in use",
            figures.quarantined,
        )?;
        families.gauge("effects_refused", "Effects of the last plan that were refused", figures.refused)?;
        match figures.confirmed_age {
            None => Ok(()),
            Some(age) => families.age("confirmed_age", "Age of the cloud's last answer that counts", age),
        }
    }
}
