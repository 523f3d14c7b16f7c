//! Loading policies: read, verified and compiled on threads of its own, never on a request's way.
//!
//! ```text
//! wanted ─▶ waiting (what serves networks first, then embedded ones, then files) ─▶ loading ─▶ loaded
//!    ▲                                                                                │
//!    └──────────── its pause is over, or an operator asks ───── failed ◀──────────────┘
//! ```
//!
//! Each policy is loaded by itself: one that compiles for long keeps one thread busy and nobody else waiting. The table is behind
//! a `std::sync::Mutex`, held for a look-up and never while anything is read or compiled.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure_types::{Error, ErrorCode, PolicyName, PolicyStamp, Result};
use tokio::sync::oneshot;

use crate::sandbox::AskedPolicy;

/// How many are loaded at a time, beside what operators ask for.
const THREADS: u32 = 2;

/// How long a policy that failed is left alone the first time; each failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The longest pause where only the bytes were missing: a file that was put right is found soon.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A policy's name and digest.
type Key = (PolicyName, Arc<str>);

/// Reads, verifies and compiles.
pub(crate) type Load = Box<dyn Fn(&PolicyStamp) -> Result<AskedPolicy, Failed> + Send + Sync>;

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

/// The loader. Dropping it leaves what is being loaded to itself.
pub(crate) struct Loader(Arc<Shared>);

struct Shared {
    load: Load,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: HashMap<Key, Entry>,
    /// By rank, then in the order in which they were wanted.
    waiting: BTreeSet<(Rank, u64, PolicyName, Arc<str>)>,
    wanted: u64,
    threads: u32,
    /// What the node is not ready without.
    awaited: HashSet<Key>,
    closed: bool,
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
    asking: Vec<oneshot::Sender<Result<Arc<AskedPolicy>>>>,
}

impl Loader {
    pub(crate) fn new(load: Load) -> Self {
        Self(Arc::new(Shared { load, table: Mutex::default() }))
    }

    /// What is known of a policy; one that nobody has wanted before, or whose pause is over, is loaded from now on.
    pub(crate) fn want(&self, stamp: &PolicyStamp, rank: Rank) -> Standing {
        self.look(stamp, rank, |_| true)
    }

    /// The same, but only where loading costs little: the first time, or when the bytes were missing.
    pub(crate) fn want_bytes(&self, stamp: &PolicyStamp, rank: Rank) -> Standing {
        self.look(stamp, rank, |failed| failed.missing)
    }

    fn look(&self, stamp: &PolicyStamp, rank: Rank, try_again: impl Fn(&Failed) -> bool) -> Standing {
        let mut table = self.0.lock();
        let entry = table.entries.entry(key(stamp)).or_default();
        if let Some(policy) = &entry.loaded {
            return Standing::Loaded(Arc::clone(policy));
        }
        let standing = entry.failed.clone().map_or(Standing::Loading, Standing::Failed);
        let is_idle = !entry.running && entry.place.is_none();
        if is_idle && entry.again_at <= now() && entry.failed.as_ref().is_none_or(try_again) {
            self.0.queue(&mut table, stamp, rank);
        }
        standing
    }

    /// Has the node wait for a policy, which is loaded from now on.
    pub(crate) fn await_for(&self, stamp: &PolicyStamp, rank: Rank) {
        if let Standing::Loading = self.want(stamp, rank) {
            let mut table = self.0.lock();
            // It may have ended in between.
            if table.entries.get(&key(stamp)).is_some_and(|entry| entry.running || entry.place.is_some()) {
                table.awaited.insert(key(stamp));
            }
        }
    }

    /// What the node waits for.
    pub(crate) fn awaited(&self) -> Vec<PolicyStamp> {
        let table = self.0.lock();
        let mut awaited: Vec<_> = table
            .awaited
            .iter()
            .map(|(name, digest)| PolicyStamp { name: name.clone(), digest: digest.clone() })
            .collect();
        awaited.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        awaited
    }

    /// What was wanted and is not loaded.
    pub(crate) fn unloaded(&self) -> Vec<PolicyStamp> {
        let table = self.0.lock();
        let unloaded = table.entries.iter().filter(|(_, entry)| entry.loaded.is_none());
        unloaded
            .map(|((name, digest), _)| PolicyStamp { name: name.clone(), digest: digest.clone() })
            .collect()
    }

    /// Loads a policy at once, however often it has failed, and waits for the outcome.
    pub(crate) async fn load(&self, stamp: &PolicyStamp) -> Result<Arc<AskedPolicy>> {
        let outcome = {
            let mut table = self.0.lock();
            let table = &mut *table;
            let entry = table.entries.entry(key(stamp)).or_default();
            if let Some(policy) = &entry.loaded {
                return Ok(Arc::clone(policy));
            }
            let (sender, outcome) = oneshot::channel();
            entry.asking.push(sender);
            if !entry.running {
                if let Some((rank, order)) = entry.place.take() {
                    table.waiting.remove(&(rank, order, stamp.name.clone(), stamp.digest.clone()));
                }
                let (shared, stamp) = (Arc::clone(&self.0), stamp.clone());
                let only_this = std::thread::Builder::new()
                    .name("policy-loader".into())
                    .spawn(move || shared.load_one(&stamp))
                    .map_err(|error| no_thread(&error))?;
                drop(only_this);
                entry.running = true;
            }
            outcome
        };
        outcome.await.unwrap_or_else(|_| {
            Err(Error::new(ErrorCode::Internal, format_args!("loading policy {stamp} came to no end")))
        })
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        let mut table = self.0.lock();
        table.closed = true;
        table.waiting.clear();
    }
}

impl Shared {
    /// Nothing is left half done under the lock, so a poisoned one is as good.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a policy among those that wait, and sees to it that somebody looks.
    fn queue(self: &Arc<Self>, table: &mut Table, stamp: &PolicyStamp, rank: Rank) {
        table.wanted += 1;
        let order = table.wanted;
        table.waiting.insert((rank, order, stamp.name.clone(), stamp.digest.clone()));
        if let Some(entry) = table.entries.get_mut(&key(stamp)) {
            entry.place = Some((rank, order));
        }
        if table.threads >= THREADS {
            return;
        }
        let shared = Arc::clone(self);
        match std::thread::Builder::new().name("policy-loader".into()).spawn(move || shared.work()) {
            Ok(_) => table.threads += 1,
            // Whoever wants it next tries again.
            Err(error) => tracing::error!(%error, "no thread to load policies"),
        }
    }

    /// Loads what waits until nothing does.
    fn work(&self) {
        while let Some(stamp) = self.next() {
            self.load_one(&stamp);
        }
    }

    fn next(&self) -> Option<PolicyStamp> {
        let mut table = self.lock();
        while let Some((.., name, digest)) = table.waiting.pop_first() {
            if let Some(entry) = table.entries.get_mut(&(name.clone(), digest.clone())) {
                entry.place = None;
                entry.running = true;
                return Some(PolicyStamp { name, digest });
            }
        }
        table.threads -= 1;
        None
    }

    /// Loads one policy and keeps what came of it.
    fn load_one(&self, stamp: &PolicyStamp) {
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.load)(stamp))).unwrap_or_else(|_| {
            let cause = format_args!("loading policy {stamp} came to no end");
            Err(Failed { error: Error::new(ErrorCode::Internal, cause), missing: false })
        });
        self.ended(stamp, outcome.map(Arc::new));
    }

    fn ended(&self, stamp: &PolicyStamp, outcome: Result<Arc<AskedPolicy>, Failed>) {
        let mut table = self.lock();
        table.awaited.remove(&key(stamp));
        let Some(entry) = table.entries.get_mut(&key(stamp)) else { return };
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
                entry.again_at = now() + pause.min(longest);
                let code = failed.error.code.name();
                tracing::error!(policy = %stamp, code, cause = failed.error.cause, "a policy cannot be used");
                entry.failed = Some(failed.clone());
                Err(failed.error)
            }
        };
        for sender in std::mem::take(&mut entry.asking) {
            // Whoever asked may be gone.
            let _ = sender.send(answer.clone());
        }
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Loader").field("threads", &self.0.lock().threads).finish_non_exhaustive()
    }
}

fn key(stamp: &PolicyStamp) -> Key {
    (stamp.name.clone(), stamp.digest.clone())
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::new(ErrorCode::Internal, format_args!("no thread to load policies: {error}"))
}

/// A clock for pauses, which no wall clock moves.
fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}
