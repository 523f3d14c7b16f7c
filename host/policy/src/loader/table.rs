//! What is wanted, waits, is being loaded, is loaded or has failed: the loader's table, without its threads and its clock.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tenure_types::{Error, PolicyName, PolicyStamp, Result};
use tokio::sync::oneshot;

use crate::sandbox::AskedPolicy;

/// How long a policy that failed is left alone the first time; each failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The longest pause where only the bytes were missing: a file that was put right is found soon.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A policy's name and digest.
type Key = (PolicyName, Arc<str>);

/// A policy that was asked for by itself.
type Asking = oneshot::Sender<Result<Arc<AskedPolicy>>>;

/// Why a policy did not load.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    pub(crate) error: Error,
    /// The bytes were not to be had, which costs nothing to look at again.
    pub(crate) missing: bool,
}

/// What is loaded before what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// It serves a network.
    Serving,
    /// It came with the program.
    Embedded,
    /// The configuration names it.
    Configured,
}

/// What is known of a policy that is not loaded.
#[derive(Debug, Clone)]
pub(crate) enum Standing {
    /// It is loaded; ask again.
    Loaded(Arc<AskedPolicy>),
    /// It is being loaded for the first time, or waits for it.
    Loading,
    /// It failed, and may be being tried again.
    Failed(Failed),
}

/// All policies that were ever wanted.
#[derive(Default)]
pub(super) struct Table {
    entries: HashMap<Key, Entry>,
    /// By rank, then in the order in which they were wanted.
    waiting: BTreeSet<(Rank, u64, PolicyName, Arc<str>)>,
    wanted: u64,
    /// What the node is not ready without.
    awaited: HashSet<Key>,
}

#[derive(Default)]
struct Entry {
    loaded: Option<Arc<AskedPolicy>>,
    failed: Option<Failed>,
    failures: u32,
    /// When it may be tried again.
    again_at: Duration,
    /// Its place among those that wait.
    place: Option<(Rank, u64)>,
    running: bool,
    asking: Vec<Asking>,
}

impl Table {
    /// What is known of a policy, and whether it is among those that wait since now: for the first time, or because its pause is over
    /// and its failure is one to try again.
    pub(super) fn want(
        &mut self,
        stamp: &PolicyStamp,
        rank: Rank,
        now: Duration,
        try_again: impl Fn(&Failed) -> bool,
    ) -> (Standing, bool) {
        let entry = self.entries.entry(key(stamp)).or_default();
        if let Some(policy) = &entry.loaded {
            return (Standing::Loaded(Arc::clone(policy)), false);
        }
        let standing = entry.failed.clone().map_or(Standing::Loading, Standing::Failed);
        let is_idle = !entry.running && entry.place.is_none();
        let waits = is_idle && entry.again_at <= now && entry.failed.as_ref().is_none_or(try_again);
        if waits {
            self.wanted += 1;
            entry.place = Some((rank, self.wanted));
            self.waiting.insert((rank, self.wanted, stamp.name.clone(), stamp.digest.clone()));
        }
        (standing, waits)
    }

    /// Has the node wait for a policy, unless it has been loaded or has failed meanwhile.
    pub(super) fn await_for(&mut self, stamp: &PolicyStamp) {
        if self.entries.get(&key(stamp)).is_some_and(|entry| entry.running || entry.place.is_some()) {
            self.awaited.insert(key(stamp));
        }
    }

    /// What the node waits for, by name.
    pub(super) fn awaited(&self) -> Vec<PolicyStamp> {
        let mut awaited: Vec<_> = self.awaited.iter().map(stamp).collect();
        awaited.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        awaited
    }

    /// What was wanted and is not loaded.
    pub(super) fn unloaded(&self) -> Vec<PolicyStamp> {
        let unloaded = self.entries.iter().filter(|(_, entry)| entry.loaded.is_none());
        unloaded.map(|(key, _)| stamp(key)).collect()
    }

    /// A policy that is loaded.
    pub(super) fn loaded(&self, stamp: &PolicyStamp) -> Option<Arc<AskedPolicy>> {
        self.entries.get(&key(stamp))?.loaded.clone()
    }

    /// Has somebody told what becomes of a policy; says whether it has to be loaded at once, since nobody does so. From then on it
    /// is running.
    pub(super) fn ask(&mut self, stamp: &PolicyStamp, asking: Asking) -> bool {
        let entry = self.entries.entry(key(stamp)).or_default();
        entry.asking.push(asking);
        if let Some((rank, order)) = entry.place.take() {
            self.waiting.remove(&(rank, order, stamp.name.clone(), stamp.digest.clone()));
        }
        !std::mem::replace(&mut entry.running, true)
    }

    /// The next policy that waits, which is running from now on.
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

    /// Forgets a policy that has failed or waits; one that is loaded, is being loaded or was asked for stays.
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

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Lets nothing wait any more.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Keeps what came of loading a policy, and tells those who asked.
    pub(super) fn ended(
        &mut self,
        stamp: &PolicyStamp,
        outcome: Result<Arc<AskedPolicy>, Failed>,
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
            // Whoever asked may be gone.
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
