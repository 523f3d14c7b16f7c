//! The rule of an election: who may take a Lease, and when.
//!
//! ```text
//!   the Lease as it was read                           step
//!   ─────────────────────────────────────────────────────────────────────────────────────────────────
//!   none, or without a holder                          take
//!   held by me                                         renew
//!   held by another, changed within its duration       wait
//!   held by another, unchanged for its duration        take
//! ```
//!
//! "Unchanged" counts on my own clock from when I saw the object change. The times in it are of another clock; they only tell a backup that was put
//! back from a store that lives (`tenure_leases::operator::barrier`).

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::servers::ApiServers;

/// Seconds for which a Lease is valid after its last change.
pub(super) const LEASE_SECONDS: i32 = 15;

/// A leader that could not renew for so long stops leading. Shorter than the 15 seconds of a Lease, so that it stops before another begins.
pub const RENEW_DEADLINE: Duration = Duration::from_secs(10);

/// The pause between two looks at the Lease.
pub(super) const RETRY: Duration = Duration::from_secs(2);

/// The fields of a Lease that an election looks at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The holder; empty if it was given up.
    pub holder: String,
    /// Seconds for which the holder wants it to be valid.
    pub duration_seconds: i32,
    /// The resourceVersion, which changes with each renewal.
    pub version: String,
    /// The time of the last renewal, by the holder's clock.
    pub renewed: Option<Timestamp>,
    /// Whether the holder suspects a restored store.
    pub is_doubted: bool,
    /// The API servers that the holder has seen.
    pub servers: ApiServers,
}

/// A record, and when it was first seen so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observation {
    record: Option<LeaseRecord>,
    since: Duration,
}

/// The next step in an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElectionStep {
    /// Leave the Lease to its holder.
    Wait,
    /// Write one's own name.
    Take,
    /// Write the time of renewal.
    Renew,
}

impl Observation {
    /// Notes the Lease as it was read now, and decides.
    pub fn observe(&mut self, me: &str, record: Option<LeaseRecord>, now: Duration) -> ElectionStep {
        if self.record != record {
            *self = Self { record, since: now };
        }
        match &self.record {
            None => ElectionStep::Take,
            Some(record) if record.holder.is_empty() => ElectionStep::Take,
            Some(record) if record.holder == me => ElectionStep::Renew,
            Some(record) => {
                let seconds = u64::try_from(record.duration_seconds).unwrap_or_default();
                let over = now.saturating_sub(self.since) >= Duration::from_secs(seconds);
                if over { ElectionStep::Take } else { ElectionStep::Wait }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(holder: &str, version: &str) -> Option<LeaseRecord> {
        Some(LeaseRecord {
            holder: holder.into(),
            duration_seconds: LEASE_SECONDS,
            version: version.into(),
            ..LeaseRecord::default()
        })
    }

    #[test]
    fn a_lease_is_taken_when_its_holder_has_been_silent_for_its_duration_by_ones_own_clock() {
        let (mut seen, at) = (Observation::default(), Duration::from_secs);
        assert_eq!(seen.observe("a", None, at(100)), ElectionStep::Take);
        assert_eq!(seen.observe("a", record("", ""), at(100)), ElectionStep::Take);
        assert_eq!(seen.observe("a", record("b", "7"), at(101)), ElectionStep::Wait);
        assert_eq!(seen.observe("a", record("b", "8"), at(115)), ElectionStep::Wait);
        assert_eq!(seen.observe("a", record("b", "8"), at(129)), ElectionStep::Wait);
        assert_eq!(seen.observe("a", record("b", "8"), at(130)), ElectionStep::Take);
        assert_eq!(seen.observe("a", record("a", "9"), at(131)), ElectionStep::Renew);
        assert!(RENEW_DEADLINE < Duration::from_secs(LEASE_SECONDS.unsigned_abs().into()));
    }
}
