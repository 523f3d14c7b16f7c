//! How far behind the truth Describe and IMDS are, and how they lie about it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::time::Time;

/// The part of an interface that IMDS shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// The interface's MAC is not listed.
    Missing,
    /// The interface's MAC is listed, and each field answers 404.
    NoFields,
    /// Every second list of MACs does not have it, and its fields answer 404 until the next list.
    Flapping,
}

/// The staleness of reads. By default, reads are consistent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Consistency {
    /// How old Describe's answers are, in milliseconds: a new interface is not found, a changed one shows its old addresses.
    pub describe_lag_ms: u64,
    /// The moment at which Describe's answers stopped changing.
    pub describe_frozen_at: Option<Time>,
    /// Interfaces that Describe leaves out, as if they did not exist.
    pub describe_hides: BTreeSet<String>,
    /// How long a new interface is not found by calls that change it, in milliseconds.
    pub call_lag_ms: u64,
    /// How old a subnet's number of free addresses is, in milliseconds.
    pub subnet_lag_ms: u64,
    /// How old IMDS's answers are, in milliseconds.
    pub imds_lag_ms: u64,
    /// The moments at which the IMDS of instances stopped changing, by instance.
    pub imds_frozen_at: BTreeMap<String, Time>,
    /// The interfaces that IMDS shows only in part, by their identifiers or MACs.
    pub imds_shows: BTreeMap<String, Shown>,
}

impl Consistency {
    /// The moment whose truth Describe answers.
    #[must_use]
    pub fn describe(&self, now: Time) -> Time {
        let seen = now.before(self.describe_lag_ms);
        self.describe_frozen_at.map_or(seen, |frozen| seen.min(frozen))
    }

    /// The moment whose truth an instance's IMDS answers.
    #[must_use]
    pub fn imds(&self, instance: &str, now: Time) -> Time {
        let seen = now.before(self.imds_lag_ms);
        self.imds_frozen_at.get(instance).map_or(seen, |frozen| seen.min(*frozen))
    }

    /// The oldest moment that anybody can still see.
    #[must_use]
    pub(super) fn oldest(&self, now: Time) -> Time {
        let lag = self.describe_lag_ms.max(self.imds_lag_ms).max(self.subnet_lag_ms);
        let frozen = self.imds_frozen_at.values().copied().chain(self.describe_frozen_at);
        // Once a lag is set, it must find a past to show.
        frozen.fold(now.before(lag.max(PAST_MS)), Time::min)
    }
}

/// How much of the past is kept in any case, in milliseconds.
const PAST_MS: u64 = 600_000;
