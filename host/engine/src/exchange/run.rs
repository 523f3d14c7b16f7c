//! A shadow run and its report.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_types::{Moment, NetworkName, PolicyStamp};

use super::follower::Follower;
use crate::policy::verdicts::Verdicts;

/// The state of a shadow run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShadowReport {
    /// The candidate.
    pub policy: Option<PolicyStamp>,
    /// Beginning of the run; after a restart, its counts start at zero.
    pub since: Moment,
    /// The comparisons.
    pub verdicts: Verdicts,
    /// Of these requests, those of agents for claims, and how many of these the candidate refuses. An agent may ask as often as
    /// it likes, so they decide on a promotion only where no pod asks.
    pub of_claims: (u64, u64),
    /// Requests of live allocations that were put to the candidate again, and how many of them it answered.
    pub rehearsed: (u64, u64),
    /// Of these requests, how many the candidate refuses and the serving policy would answer again.
    pub refused_again: u64,
    /// Recorded decisions that were made again and compared, and those whose record lacks what the candidate asks.
    pub recorded: (u64, u64),
    /// Requests that were not compared, since the candidate was still busy or resting.
    pub skipped: u64,
    /// Why the candidate cannot follow now.
    pub problem: Option<String>,
}

impl ShadowReport {
    /// How many comparisons decide on a promotion, and in how many of them the candidate refuses.
    #[must_use]
    pub fn decisive(&self) -> (u64, u64) {
        let (compared, refused) = (self.verdicts.compared(), self.verdicts.refused);
        match compared.saturating_sub(self.of_claims.0) {
            0 => (compared, refused),
            of_others => (of_others, refused.saturating_sub(self.of_claims.1)),
        }
    }
}

/// A shadow run's work in progress.
#[derive(Default)]
pub(crate) struct Run {
    pub(super) follower: Option<Follower>,
    pub(super) report: ShadowReport,
    /// Whether the recorded decisions have been compared.
    pub(super) remembered: bool,
    /// The monotonic time before which the candidate has used its share.
    pub(super) paid_until: Duration,
    /// The monotonic time before which no new beginning is made.
    pub(super) again_at: Duration,
}

/// The reports of the runs.
pub(crate) type Reports = BTreeMap<NetworkName, ShadowReport>;

/// The runs.
pub(crate) type Runs = BTreeMap<NetworkName, Run>;
