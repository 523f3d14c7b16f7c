//! Loads policies in the background: reads, verifies and compiles them on its own threads, never on a request's path.
//!
//! ```text
//! wanted ─▶ waiting (what serves networks first, then embedded ones, then files) ─▶ loading ─▶ loaded
//!    ▲                                                                                │
//!    └──────────── its pause is over, or an operator retries ── failed ◀──────────────┘
//! ```
//!
//! Each policy is loaded on its own, so a slow compilation blocks one thread and no other policy. The table is behind
//! a
//! `std::sync::Mutex`, held for a look-up and never while anything is read or compiled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure_types::{Error, ErrorCode, PolicyStamp, Result, hold};
use tokio::sync::oneshot;

use super::table::{LoadFailure, LoadState, LoadTable, Rank};
use crate::sandbox::AskedPolicy;

/// How many policies are loaded at a time, not counting those that operators ask for.
const THREADS: u32 = 2;

/// Reads, verifies and compiles a policy.
pub(crate) type Load = Box<dyn Fn(&PolicyStamp) -> Result<AskedPolicy, LoadFailure> + Send + Sync>;

/// The loader. Dropping it cancels what waits; loads in progress finish unobserved.
pub(crate) struct Loader(Arc<LoaderState>);

struct LoaderState {
    load: Load,
    state: Mutex<LoadQueue>,
}

#[derive(Default)]
struct LoadQueue {
    table: LoadTable,
    threads: u32,
}

impl Loader {
    pub(crate) fn new(load: Load) -> Self {
        Self(Arc::new(LoaderState { load, state: Mutex::default() }))
    }

    /// The state of a policy. Queues the load of one that is new, or whose pause after a failure is over.
    pub(crate) fn want(&self, stamp: &PolicyStamp, rank: Rank) -> LoadState {
        self.look(stamp, rank, |_| true)
    }

    /// The same, but retries only if the bytes were missing, which is cheap.
    pub(crate) fn want_bytes(&self, stamp: &PolicyStamp, rank: Rank) -> LoadState {
        self.look(stamp, rank, |failed| failed.missing)
    }

    fn look(&self, stamp: &PolicyStamp, rank: Rank, try_again: impl Fn(&LoadFailure) -> bool) -> LoadState {
        let mut state = self.0.lock();
        let (standing, waits) = state.table.want(stamp, rank, now(), try_again);
        // Something may be waiting without a thread because none could be started before.
        if waits || (state.threads == 0 && state.table.has_waiting()) {
            self.0.hire(&mut state);
        }
        standing
    }

    /// Queues a policy and adds it to those that the node waits for before it is ready.
    pub(crate) fn await_for(&self, stamp: &PolicyStamp, rank: Rank) {
        if let LoadState::Loading = self.want(stamp, rank) {
            self.0.lock().table.await_for(stamp);
        }
    }

    /// The policies that the node waits for.
    pub(crate) fn awaited(&self) -> Vec<PolicyStamp> {
        self.0.lock().table.awaited()
    }

    /// The policies that were wanted and are not loaded.
    pub(crate) fn unloaded(&self) -> Vec<PolicyStamp> {
        self.0.lock().table.unloaded()
    }

    /// The policies that are loaded.
    pub(crate) fn loaded(&self) -> Vec<PolicyStamp> {
        self.0.lock().table.all_loaded()
    }

    /// Forgets a policy that is no longer named, unless it is loaded or being loaded.
    pub(crate) fn forget(&self, stamp: &PolicyStamp) {
        self.0.lock().table.forget(stamp);
    }

    /// Forgets a policy that is loaded; the next caller that wants it loads it again.
    pub(crate) fn free(&self, stamp: &PolicyStamp) {
        self.0.lock().table.free(stamp);
    }

    /// Loads a policy immediately, however often it has failed, and waits for the outcome.
    pub(crate) async fn load(&self, stamp: &PolicyStamp) -> Result<Arc<AskedPolicy>> {
        let outcome = {
            let mut state = self.0.lock();
            if let Some(policy) = state.table.loaded(stamp) {
                return Ok(policy);
            }
            let (asking, outcome) = oneshot::channel();
            if state.table.ask(stamp, asking) {
                let (shared, only_this) = (Arc::clone(&self.0), stamp.clone());
                if let Err(error) = thread(move || shared.load_one(&only_this)) {
                    let error = Error::new(
                        ErrorCode::Internal,
                        format_args!("cannot start a thread to load a policy: {error}"),
                    );
                    state.table.ended(stamp, Err(LoadFailure { error, missing: true }), now());
                }
            }
            outcome
        };
        outcome.await.unwrap_or_else(|_| {
            Err(Error::new(ErrorCode::Internal, format_args!("loading policy {stamp} did not finish")))
        })
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        self.0.lock().table.clear();
    }
}

impl LoaderState {
    /// A poisoned lock is still usable: no critical section leaves the state inconsistent.
    fn lock(&self) -> MutexGuard<'_, LoadQueue> {
        hold(&self.state)
    }

    /// Starts a thread for what waits, unless enough are running.
    fn hire(self: &Arc<Self>, state: &mut LoadQueue) {
        if state.threads >= THREADS {
            return;
        }
        let shared = Arc::clone(self);
        match thread(move || shared.work()) {
            Ok(()) => state.threads += 1,
            // The next caller that wants a policy tries again.
            Err(error) => tracing::error!(%error, "cannot start a thread to load policies"),
        }
    }

    /// Loads policies until none waits.
    fn work(&self) {
        while let Some(stamp) = self.next() {
            self.load_one(&stamp);
        }
    }

    fn next(&self) -> Option<PolicyStamp> {
        let mut state = self.lock();
        let next = state.table.next();
        if next.is_none() {
            state.threads -= 1;
        }
        next
    }

    /// Loads one policy and records the outcome.
    fn load_one(&self, stamp: &PolicyStamp) {
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.load)(stamp))).unwrap_or_else(|_| {
            let cause = format_args!("loading policy {stamp} did not finish");
            Err(LoadFailure { error: Error::new(ErrorCode::Internal, cause), missing: false })
        });
        if let Err(LoadFailure { error, .. }) = &outcome {
            tracing::error!(policy = %stamp, code = error.code.name(), cause = error.cause, "cannot load a policy");
        }
        self.lock().table.ended(stamp, outcome.map(Arc::new), now());
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Loader").field("threads", &self.0.lock().threads).finish_non_exhaustive()
    }
}

/// Runs work that blocks on a thread of its own.
pub(crate) async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (sender, done) = oneshot::channel();
    let failed = |cause: &dyn std::fmt::Display| {
        Error::new(ErrorCode::Internal, format_args!("cannot load a policy: {cause}"))
    };
    // The caller may be gone.
    thread(move || drop(sender.send(work()))).map_err(|error| failed(&error))?;
    done.await.map_err(|_| failed(&"its thread did not finish"))
}

fn thread(work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name("policy-loader".into()).spawn(work).map(drop)
}

/// A monotonic clock for pauses.
fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}
