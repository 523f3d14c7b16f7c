//! Usage and outcomes of a policy's calls, counted since it was loaded.
//!
//! A call adds to a few atomics. Rejections are behind a `std::sync::Mutex`, held for one addition: each is a bug of the
//! policy.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_types::{Meter, PolicyFailure, hold};

use super::bindings::tenure::ipam::types::Refusal;

/// The kinds of refusal, by their names in the interface.
const REFUSALS: [&str; 7] =
    ["invalid-config", "exhausted", "unavailable", "not-yet", "denied", "over-quota", "other"];

/// The meters of one policy.
#[derive(Debug, Default)]
pub(super) struct PolicyMeters {
    calls: AtomicU64,
    processor_ns: AtomicU64,
    memory_peak: AtomicU64,
    host_calls: AtomicU64,
    failures: [AtomicU64; PolicyFailure::ALL.len()],
    refusals: [AtomicU64; REFUSALS.len()],
    rejections: Mutex<BTreeMap<&'static str, u64>>,
}

impl PolicyMeters {
    /// Counts a call with the host functions that it called and the bytes of memory that it used.
    pub(super) fn called(&self, host_calls: u64, memory: usize) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.host_calls.fetch_add(host_calls, Ordering::Relaxed);
        let memory = u64::try_from(memory).unwrap_or(u64::MAX);
        // Most calls change nothing.
        if self.memory_peak.load(Ordering::Relaxed) < memory {
            self.memory_peak.fetch_max(memory, Ordering::Relaxed);
        }
    }

    /// Adds the processor time of a call.
    pub(super) fn used(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.processor_ns.fetch_add(time, Ordering::Relaxed);
    }

    /// Counts a refusal.
    pub(super) fn refused(&self, refusal: &Refusal) {
        let [invalid, exhausted, unavailable, not_yet, denied, over_quota, other] = &self.refusals;
        let count = match refusal {
            Refusal::InvalidConfig(_) => invalid,
            Refusal::Exhausted(_) => exhausted,
            Refusal::Unavailable(_) => unavailable,
            Refusal::NotYet(_) => not_yet,
            Refusal::Denied(_) => denied,
            Refusal::OverQuota(_) => over_quota,
            Refusal::Other(_) => other,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a failure.
    pub(super) fn failed(&self, failure: PolicyFailure) {
        for (kind, count) in PolicyFailure::ALL.iter().zip(&self.failures) {
            if *kind == failure {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Counts an answer that the ledger rejected, by the rule that it broke.
    pub(super) fn rejected(&self, rule: &'static str) {
        *hold(&self.rejections).entry(rule).or_default() += 1;
    }

    /// The meters' present values.
    pub(super) fn read(&self) -> Meter {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = |names: &[&'static str], counts: &[AtomicU64]| {
            let counts = names.iter().copied().zip(counts.iter().map(load));
            counts.filter(|(_, count)| *count > 0).collect()
        };
        let rejections = hold(&self.rejections);
        Meter {
            calls: load(&self.calls),
            processor: Duration::from_nanos(load(&self.processor_ns)),
            memory_peak: load(&self.memory_peak),
            host_calls: load(&self.host_calls),
            failures: counts(&PolicyFailure::ALL.map(PolicyFailure::name), &self.failures),
            refusals: counts(&REFUSALS, &self.refusals),
            rejections: rejections.iter().map(|(rule, count)| (*rule, *count)).collect(),
            ..Meter::default()
        }
    }
}
