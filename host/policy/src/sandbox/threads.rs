//! The threads that policies run on: a few, reused, and none of those that serve requests.
//!
//! ```text
//! ask ─▶ waiting ─▶ an idle thread, or a new one ─▶ the call ─▶ idle again
//!                                                     └─ it is slow: the thread drops to the lowest priority, is replaced, and ends
//! ```
//!
//! There are two sets: threads at the daemon's priority, and threads at the lowest priority from the start. One
//! policy gets only a share of the threads, so that slow calls of one policy leave room for the others. The state is
//! behind a `std::sync::Mutex`, held for a few moves of memory.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_types::hold;

use super::processor;

/// How long a thread stays idle before it ends, unless it is the only idle one.
const LINGER: Duration = Duration::from_secs(5);

type Work = Box<dyn FnOnce(&Arc<Seat>) + Send>;

/// A call to make.
pub(super) struct Job {
    /// The policy's digest.
    pub(super) policy: Arc<str>,
    /// Makes the call and sends the answer.
    pub(super) work: Work,
}

/// The priority of a set of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Priority {
    /// The priority of the daemon's other threads.
    Usual,
    /// The lowest.
    Last,
}

/// A thread's place in its set.
#[derive(Debug)]
pub(super) struct Seat {
    shared: Arc<GateState>,
    left: AtomicBool,
}

/// A set of threads. Dropping it ends the idle ones now, and each other one after its call.
#[derive(Debug)]
pub(super) struct Threads(Arc<GateState>);

#[derive(Debug)]
struct GateState {
    state: Mutex<ThreadsState>,
    /// Signalled when a job arrives, a running call frees its policy's share, or the set closes.
    wake: Condvar,
    /// The most threads.
    most: u32,
    /// The most threads that one policy gets.
    share: u32,
    priority: Priority,
}

#[derive(Default)]
struct ThreadsState {
    waiting: VecDeque<Job>,
    /// The number of running calls per policy.
    running: HashMap<Arc<str>, u32>,
    /// The policy of the last call that began.
    last: Option<Arc<str>>,
    threads: u32,
    idle: u32,
    closed: bool,
}

impl Threads {
    /// Creates a set without threads, of which at most `most` ever make calls at this priority, and at most `share` those of one
    /// policy.
    pub(super) fn new(most: u32, share: u32, priority: Priority) -> Self {
        let (most, share) = (most.max(1), share.max(1));
        Self(Arc::new(GateState { state: Mutex::default(), wake: Condvar::new(), most, share, priority }))
    }

    /// Runs a job as soon as a thread is free for it. If no thread can be started at all, the job is dropped.
    pub(super) fn run(&self, job: Job) {
        let mut state = self.0.lock();
        state.waiting.push_back(job);
        // Idle threads cannot take jobs that wait for their policy's share, but they may take this one.
        let idle = usize::try_from(state.idle).unwrap_or(usize::MAX);
        if state.waiting.len() > idle {
            self.0.hire(&mut state);
        }
        drop(state);
        if idle > 0 {
            self.0.wake.notify_one();
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.wake.notify_all();
    }
}

impl Seat {
    /// Lowers the calling thread, which must be this seat's, to the lowest priority. Another thread takes the seat.
    pub(super) fn give_way(&self) {
        if self.shared.priority == Priority::Last || self.left.swap(true, Ordering::Relaxed) {
            return;
        }
        // First, since a new thread inherits the priority of the one that starts it.
        self.shared.retire(&mut self.shared.lock());
        processor::give_way();
    }
}

impl GateState {
    /// A poisoned lock is still usable: no critical section leaves the state inconsistent.
    fn lock(&self) -> MutexGuard<'_, ThreadsState> {
        hold(&self.state)
    }

    /// Starts another thread, up to the limit.
    fn hire(self: &Arc<Self>, state: &mut ThreadsState) {
        if state.threads >= self.most {
            return;
        }
        let shared = Arc::clone(self);
        match std::thread::Builder::new().name("policy".into()).spawn(move || shared.work()) {
            Ok(_) => state.threads += 1,
            Err(error) => {
                tracing::error!(%error, "cannot start a thread for a policy call");
                if state.threads == 0 {
                    state.waiting.clear();
                }
            }
        }
    }

    /// Stops counting a thread that ends or has lowered its priority, and starts another if jobs wait.
    fn retire(self: &Arc<Self>, state: &mut ThreadsState) {
        state.threads -= 1;
        if !state.waiting.is_empty() {
            self.hire(state);
        }
    }

    /// The main loop of a thread.
    fn work(self: Arc<Self>) {
        if self.priority == Priority::Last {
            processor::give_way();
        }
        let seat = Arc::new(Seat { shared: Arc::clone(&self), left: AtomicBool::new(false) });
        let mut state = self.lock();
        while let Some((again, Job { policy, work })) = self.next(state) {
            drop(again);
            // A call that panics drops its answer's sender, which its caller notices.
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&seat)));
            state = self.lock();
            state.leave(&policy);
            if seat.left.load(Ordering::Relaxed) {
                if !state.waiting.is_empty() {
                    // The next job may have waited for this policy's share.
                    self.wake.notify_one();
                }
                return;
            }
            if outcome.is_err() {
                self.retire(&mut state);
                return;
            }
        }
    }

    /// Waits for a job; `None` if the thread should end.
    fn next<'a>(
        &'a self,
        mut state: MutexGuard<'a, ThreadsState>,
    ) -> Option<(MutexGuard<'a, ThreadsState>, Job)> {
        loop {
            if state.closed {
                state.threads -= 1;
                return None;
            }
            if let Some(job) = state.take(self.share) {
                return Some((state, job));
            }
            state.idle += 1;
            let mut is_over = false;
            if state.idle == 1 {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                let (again, timeout) =
                    self.wake.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner);
                (state, is_over) = (again, timeout.timed_out());
            }
            state.idle -= 1;
            if is_over && state.waiting.is_empty() && state.idle > 0 {
                state.threads -= 1;
                return None;
            }
        }
    }
}

impl ThreadsState {
    /// Takes the first waiting job whose policy has not used up its share; if possible, not of the same policy twice in a row,
    /// so that many calls of one do not keep the others waiting.
    fn take(&mut self, share: u32) -> Option<Job> {
        let has_room = |job: &Job| self.running.get(&job.policy).is_none_or(|running| *running < share);
        let is_other = |job: &Job| self.last.as_ref() != Some(&job.policy);
        let other = self.waiting.iter().position(|job| is_other(job) && has_room(job));
        let index = other.or_else(|| self.waiting.iter().position(has_room))?;
        let job = self.waiting.remove(index)?;
        self.last = Some(Arc::clone(&job.policy));
        *self.running.entry(Arc::clone(&job.policy)).or_default() += 1;
        Some(job)
    }

    fn leave(&mut self, policy: &Arc<str>) {
        if let Some(running) = self.running.get_mut(policy) {
            *running -= 1;
            if *running == 0 {
                self.running.remove(policy);
            }
        }
    }
}

impl std::fmt::Debug for ThreadsState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("State").field("threads", &self.threads).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
