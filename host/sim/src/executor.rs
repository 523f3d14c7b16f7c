//! A single-threaded executor that polls the task that the seed picks.
//!
//! Only woken tasks are polled, so a lost wake-up shows as a task that never ends.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use tenure_fixtures::random::Random;

/// Records that a task was woken.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Task<T> {
    id: u64,
    future: Pin<Box<dyn Future<Output = T>>>,
    woken: Arc<Flag>,
}

/// Tasks with an output of type `T`.
pub(crate) struct Executor<T> {
    tasks: Vec<Task<T>>,
    next: u64,
}

impl<T> Executor<T> {
    pub(crate) fn new() -> Self {
        Self { tasks: Vec::new(), next: 0 }
    }

    /// Adds a task; it runs when it is picked.
    pub(crate) fn spawn(&mut self, future: impl Future<Output = T> + 'static) -> u64 {
        self.next += 1;
        let woken = Arc::new(Flag(AtomicBool::new(true)));
        self.tasks.push(Task { id: self.next, future: Box::pin(future), woken });
        self.next
    }

    /// Polls one of the woken tasks. Returns its id and output if it ended; the outer `None` means that no task is
    /// woken.
    pub(crate) fn step(&mut self, random: &mut Random) -> Option<Option<(u64, T)>> {
        let woken: Vec<usize> = (0..self.tasks.len())
            .filter(|index| self.tasks.get(*index).is_some_and(|task| task.woken.0.load(Ordering::Relaxed)))
            .collect();
        let pick = usize::try_from(random.below(woken.len().max(1) as u64)).unwrap_or_default();
        let index = *woken.get(pick)?;
        let task = self.tasks.get_mut(index)?;
        task.woken.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&task.woken));
        match task.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => Some(None),
            Poll::Ready(output) => {
                let task = self.tasks.swap_remove(index);
                Some(Some((task.id, output)))
            }
        }
    }

    /// The tasks that have not ended.
    pub(crate) fn ids(&self) -> Vec<u64> {
        self.tasks.iter().map(|task| task.id).collect()
    }

    /// Drops a task, as a server drops the work of a caller that has gone away.
    pub(crate) fn cancel(&mut self, id: u64) {
        self.tasks.retain(|task| task.id != id);
    }
}
