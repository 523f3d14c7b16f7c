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
    /// That of the daemon's other threads.
    Usual,
    /// The lowest.
    Last,
}

/// A thread's place in its set.
#[derive(Debug)]
pub(super) struct Seat {
    shared: Arc<Shared>,
    left: AtomicBool,
}

/// A set of threads. Dropping it ends the idle ones now, and each other one after its call.
#[derive(Debug)]
pub(super) struct Threads(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Signalled when a job arrives, a running call frees its policy's share, or the set closes.
    wake: Condvar,
    /// The most threads.
    most: u32,
    /// The most threads that one policy gets.
    share: u32,
    priority: Priority,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    /// The number of running calls per policy.
    running: HashMap<Arc<str>, u32>,
    threads: u32,
    idle: u32,
    closed: bool,
}

impl Threads {
    /// Creates a set without threads, of which at most `most` ever make calls at this priority.
    pub(super) fn new(most: u32, priority: Priority) -> Self {
        let most = most.max(1);
        let share = (most - most / 4).max(1);
        Self(Arc::new(Shared { state: Mutex::default(), wake: Condvar::new(), most, share, priority }))
    }

    /// Runs a job as soon as a thread is free for it. If no thread can be started at all, the job is dropped.
    pub(super) fn run(&self, job: Job) {
        let mut state = self.0.lock();
        state.waiting.push_back(job);
        // Jobs that wait for their policy's share are no work for the idle threads, but this one may be.
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

impl Shared {
    /// A poisoned lock is still usable: no critical section leaves the state inconsistent.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts another thread, up to the limit.
    fn hire(self: &Arc<Self>, state: &mut State) {
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
    fn retire(self: &Arc<Self>, state: &mut State) {
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
    fn next<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Option<(MutexGuard<'a, State>, Job)> {
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

impl State {
    /// Takes the first waiting job whose policy has not used up its share.
    fn take(&mut self, share: u32) -> Option<Job> {
        let has_room = |job: &Job| self.running.get(&job.policy).is_none_or(|running| *running < share);
        let index = self.waiting.iter().position(has_room)?;
        let job = self.waiting.remove(index)?;
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

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("State").field("threads", &self.threads).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread::ThreadId;

    use rustix::process::getpriority_process;

    use super::*;

    fn job(policy: &str, work: impl FnOnce(&Arc<Seat>) + Send + 'static) -> Job {
        Job { policy: policy.into(), work: Box::new(work) }
    }

    /// Makes a call that reports its thread and priority.
    fn ran_on(threads: &Threads) -> (ThreadId, i32) {
        let (sender, receiver) = mpsc::channel();
        threads.run(job("p", move |_| sender.send(this_thread()).unwrap()));
        receiver.recv().unwrap()
    }

    fn this_thread() -> (ThreadId, i32) {
        (std::thread::current().id(), getpriority_process(None).unwrap())
    }

    fn wait_until(threads: &Threads, what: impl Fn(&State) -> bool) {
        while !what(&threads.0.lock()) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_thread_is_used_again_unless_its_call_panicked() {
        let threads = Threads::new(4, Priority::Usual);
        let first = ran_on(&threads);
        wait_until(&threads, |state| state.idle == 1);
        assert_eq!(ran_on(&threads), first);
        // Otherwise another thread might be started for the call, and stay.
        wait_until(&threads, |state| state.idle == 1);
        threads.run(job("p", |_| panic!("on purpose")));
        wait_until(&threads, |state| state.threads == 0);
        assert!(threads.0.lock().running.is_empty());
    }

    #[test]
    fn whoever_takes_the_seat_of_one_that_gives_way_has_the_usual_priority() {
        let (_, usual) = this_thread();
        let threads = Threads::new(1, Priority::Usual);
        let (release, released) = mpsc::channel::<()>();
        let (sender, slow) = mpsc::channel();
        threads.run(job("slow", move |seat| {
            released.recv().unwrap();
            seat.give_way();
            sender.send(this_thread()).unwrap();
            released.recv().unwrap();
        }));
        let (sender, receiver) = mpsc::channel();
        for policy in ["slow", "quick"] {
            let sender = sender.clone();
            threads.run(job(policy, move |_| sender.send((policy, this_thread())).unwrap()));
        }
        wait_until(&threads, |state| state.threads == 1 && state.waiting.len() == 2);
        release.send(()).unwrap();
        let (demoted, last) = slow.recv().unwrap();
        assert_eq!(last, processor::LAST);
        let (policy, (thread, priority)) = receiver.recv().unwrap();
        assert_eq!((policy, priority), ("quick", usual), "the slow call is still running");
        assert_ne!(thread, demoted);
        release.send(()).unwrap();
        let (policy, (thread, priority)) = receiver.recv().unwrap();
        assert_eq!((policy, priority), ("slow", usual), "it had waited for its policy's share");
        assert_ne!(thread, demoted);
        wait_until(&threads, |state| state.threads == 1 && state.running.is_empty());
    }

    #[test]
    fn threads_of_the_last_priority_have_it_before_their_first_call_and_are_used_again() {
        let threads = Threads::new(4, Priority::Last);
        let (sender, receiver) = mpsc::channel();
        threads.run(job("slow", move |seat| {
            let before = this_thread();
            seat.give_way();
            sender.send(before).unwrap();
        }));
        let first = receiver.recv().unwrap();
        assert_eq!(first.1, processor::LAST);
        wait_until(&threads, |state| state.idle == 1);
        assert_eq!(ran_on(&threads), first);
    }

    #[test]
    fn the_calls_of_one_policy_leave_room_for_anothers() {
        let threads = Threads::new(4, Priority::Usual);
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        for _ in 0..20 {
            let released = Arc::clone(&released);
            threads.run(job("slow", move |_| released.lock().unwrap().recv().unwrap()));
        }
        wait_until(&threads, |state| state.running.values().sum::<u32>() == 3);
        let (sender, receiver) = mpsc::channel();
        for number in 0..50 {
            let sender = sender.clone();
            threads.run(job("quick", move |_| sender.send(number).unwrap()));
        }
        let mut answered: Vec<i32> = (0..50).map(|_| receiver.recv().unwrap()).collect();
        answered.sort_unstable();
        assert_eq!(answered, (0..50).collect::<Vec<_>>());
        assert_eq!(threads.0.lock().waiting.len(), 17, "the other slow calls still wait");
        for _ in 0..20 {
            release.send(()).unwrap();
        }
        wait_until(&threads, |state| state.waiting.is_empty() && state.running.is_empty());
    }
}
