//! The loader's table, without its threads and clock: which policies wait, are being loaded, are loaded or have
//! failed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tenure_types::{Error, PolicyName, PolicyStamp, Result};
use tokio::sync::oneshot;

use crate::sandbox::AskedPolicy;

/// The pause after the first failure; each further failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The longest pause if only the bytes were missing, so that a restored file is found soon.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A policy's name and digest.
type Key = (PolicyName, Arc<str>);

/// A caller that waits for this one policy.
type Asking = oneshot::Sender<Result<Arc<AskedPolicy>>>;

/// Why a policy did not load.
#[derive(Debug, Clone)]
pub(crate) struct LoadFailure {
    pub(crate) error: Error,
    /// Whether the bytes were unavailable, so that a retry is cheap.
    pub(crate) missing: bool,
}

/// The order in which policies are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// The policy serves a network.
    Serving,
    /// The policy is embedded in the program.
    Embedded,
    /// The configuration names it.
    Configured,
}

/// The state of a policy.
#[derive(Debug, Clone)]
pub(crate) enum LoadState {
    /// The policy is loaded.
    Loaded(Arc<AskedPolicy>),
    /// The policy is being loaded for the first time, or waits for that.
    Loading,
    /// Loading failed; a retry may be waiting or running.
    Failed(LoadFailure),
}

/// All policies that were ever wanted.
#[derive(Default)]
pub(super) struct LoadTable {
    entries: HashMap<Key, TableEntry>,
    /// By rank, then in the order in which they were wanted.
    waiting: BTreeSet<(Rank, u64, PolicyName, Arc<str>)>,
    wanted: u64,
    /// The policies that must load or fail before the node is ready.
    awaited: HashSet<Key>,
}

#[derive(Default)]
struct TableEntry {
    loaded: Option<Arc<AskedPolicy>>,
    failed: Option<LoadFailure>,
    failures: u32,
    /// The earliest time of a retry.
    again_at: Duration,
    /// The policy's place in `waiting`.
    place: Option<(Rank, u64)>,
    running: bool,
    asking: Vec<Asking>,
}

impl LoadTable {
    /// The state of a policy, and whether this call put it in the queue: because it is new, or because its pause is
    /// over and
    /// `try_again` accepts its failure.
    pub(super) fn want(
        &mut self,
        stamp: &PolicyStamp,
        rank: Rank,
        now: Duration,
        try_again: impl Fn(&LoadFailure) -> bool,
    ) -> (LoadState, bool) {
        let entry = self.entries.entry(key(stamp)).or_default();
        if let Some(policy) = &entry.loaded {
            return (LoadState::Loaded(Arc::clone(policy)), false);
        }
        let standing = entry.failed.clone().map_or(LoadState::Loading, LoadState::Failed);
        let is_idle = !entry.running && entry.place.is_none();
        let waits = is_idle && entry.again_at <= now && entry.failed.as_ref().is_none_or(try_again);
        if waits {
            self.wanted += 1;
            entry.place = Some((rank, self.wanted));
            self.waiting.insert((rank, self.wanted, stamp.name.clone(), stamp.digest.clone()));
        }
        (standing, waits)
    }

    /// Makes the node wait for a policy, unless it has loaded or failed meanwhile.
    pub(super) fn await_for(&mut self, stamp: &PolicyStamp) {
        if self.entries.get(&key(stamp)).is_some_and(|entry| entry.running || entry.place.is_some()) {
            self.awaited.insert(key(stamp));
        }
    }

    /// The policies that the node waits for, sorted by name.
    pub(super) fn awaited(&self) -> Vec<PolicyStamp> {
        let mut awaited: Vec<_> = self.awaited.iter().map(stamp).collect();
        awaited.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        awaited
    }

    /// The policies that were wanted and are not loaded.
    pub(super) fn unloaded(&self) -> Vec<PolicyStamp> {
        let unloaded = self.entries.iter().filter(|(_, entry)| entry.loaded.is_none());
        unloaded.map(|(key, _)| stamp(key)).collect()
    }

    /// The policies that are loaded.
    pub(super) fn all_loaded(&self) -> Vec<PolicyStamp> {
        let loaded = self.entries.iter().filter(|(_, entry)| entry.loaded.is_some());
        loaded.map(|(key, _)| stamp(key)).collect()
    }

    /// A policy that is loaded.
    pub(super) fn loaded(&self, stamp: &PolicyStamp) -> Option<Arc<AskedPolicy>> {
        self.entries.get(&key(stamp))?.loaded.clone()
    }

    /// Registers a caller for the outcome of a load, and marks the policy as running. Returns whether the caller must
    /// load it, because nobody is doing so.
    pub(super) fn ask(&mut self, stamp: &PolicyStamp, asking: Asking) -> bool {
        let entry = self.entries.entry(key(stamp)).or_default();
        entry.asking.push(asking);
        if let Some((rank, order)) = entry.place.take() {
            self.waiting.remove(&(rank, order, stamp.name.clone(), stamp.digest.clone()));
        }
        !std::mem::replace(&mut entry.running, true)
    }

    /// Takes the next waiting policy and marks it as running.
    pub(super) fn next(&mut self) -> Option<PolicyStamp> {
        while let Some((.., name, digest)) = self.waiting.pop_first() {
            if let Some(entry) = self.entries.get_mut(&(name.clone(), digest.clone())) {
                entry.place = None;
                entry.running = true;
                return Some(PolicyStamp { name, digest });
            }
        }
        None
    }

    /// Forgets a policy that has failed or waits. One that is loaded, being loaded or asked for stays.
    pub(super) fn forget(&mut self, stamp: &PolicyStamp) {
        let key = key(stamp);
        let Some(entry) = self.entries.get(&key) else { return };
        if entry.loaded.is_some() || entry.running || !entry.asking.is_empty() {
            return;
        }
        if let Some((rank, wanted)) = entry.place {
            self.waiting.remove(&(rank, wanted, key.0.clone(), key.1.clone()));
        }
        self.awaited.remove(&key);
        self.entries.remove(&key);
    }

    /// Forgets a policy that is loaded.
    pub(super) fn free(&mut self, stamp: &PolicyStamp) {
        self.entries.remove(&key(stamp));
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Empties the queue.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Records the outcome of a load, and reports it to the waiting callers.
    pub(super) fn ended(
        &mut self,
        stamp: &PolicyStamp,
        outcome: Result<Arc<AskedPolicy>, LoadFailure>,
        now: Duration,
    ) {
        self.awaited.remove(&key(stamp));
        let Some(entry) = self.entries.get_mut(&key(stamp)) else { return };
        entry.running = false;
        let answer = match outcome {
            Ok(policy) => {
                entry.failed = None;
                entry.loaded = Some(Arc::clone(&policy));
                Ok(policy)
            }
            Err(failed) => {
                entry.failures += 1;
                let pause = FIRST_PAUSE.saturating_mul(1 << entry.failures.saturating_sub(1).min(16));
                let longest = if failed.missing { LOOK_AGAIN } else { LONGEST_PAUSE };
                entry.again_at = now + pause.min(longest);
                entry.failed = Some(failed.clone());
                Err(failed.error)
            }
        };
        for asking in std::mem::take(&mut entry.asking) {
            // The caller may be gone.
            let _ = asking.send(answer.clone());
        }
    }
}

fn key(stamp: &PolicyStamp) -> Key {
    (stamp.name.clone(), stamp.digest.clone())
}

fn stamp((name, digest): &Key) -> PolicyStamp {
    PolicyStamp { name: name.clone(), digest: digest.clone() }
}

#[cfg(test)]
mod tests;
