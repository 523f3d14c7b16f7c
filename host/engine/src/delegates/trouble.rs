//! The delegates whose calls fail, and the delegations that cannot be undone yet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_types::{DelegateName, Error, NetworkName, Owner};
use tokio::sync::Notify;

use super::waiting::Waiting;
use crate::lock::hold;

/// The first pause before a delegation is undone again; each failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The key of a delegation.
pub(super) type Key = (NetworkName, Owner);

/// A delegation that could not be undone.
#[derive(Debug, Clone)]
pub(super) struct Retry {
    pub(super) attempts: u32,
    /// The clock's monotonic reading from which on to try again.
    pub(super) not_before: Duration,
    pub(super) why: String,
}

/// The engine's memory of delegates beyond the facts; lost at a restart.
#[derive(Default)]
pub(crate) struct DelegateMemory {
    pub(super) waiting: Waiting,
    /// Notified when there may be something to tidy up.
    pub(super) due: Arc<Notify>,
    /// The delegations that could not be undone yet. A `std::sync::Mutex`, held to read and to change it.
    retries: Mutex<BTreeMap<Key, Retry>>,
    /// The delegates whose last call failed, and why. A `std::sync::Mutex`, held to read and to change it.
    failing: Mutex<BTreeMap<DelegateName, String>>,
}

impl DelegateMemory {
    pub(super) fn fails(&self, delegate: &DelegateName, error: &Error) {
        hold(&self.failing).insert(delegate.clone(), error.cause.clone());
    }

    pub(super) fn works(&self, delegate: &DelegateName) {
        hold(&self.failing).remove(delegate);
    }

    /// The delegates whose last call failed.
    pub(super) fn failing(&self) -> Vec<(DelegateName, String)> {
        hold(&self.failing).iter().map(|(name, why)| (name.clone(), why.clone())).collect()
    }

    pub(super) fn is_failing(&self, delegate: &DelegateName) -> bool {
        hold(&self.failing).contains_key(delegate)
    }

    pub(super) fn retry(&self, key: &Key) -> Option<Retry> {
        hold(&self.retries).get(key).cloned()
    }

    /// A delegation could not be undone.
    pub(super) fn postpone(&self, key: &Key, now: Duration, error: &Error) {
        let mut retries = hold(&self.retries);
        let attempts = retries.get(key).map_or(0, |retry| retry.attempts);
        let pause = FIRST_PAUSE.saturating_mul(1 << attempts.min(10)).min(LONGEST_PAUSE);
        let retry = Retry { attempts: attempts + 1, not_before: now + pause, why: error.cause.clone() };
        retries.insert(key.clone(), retry);
    }

    pub(super) fn settled(&self, key: &Key) {
        hold(&self.retries).remove(key);
    }
}
