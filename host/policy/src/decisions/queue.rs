//! A bounded queue between the calls and the writer. A call never waits: what does not fit is dropped and counted.
//!
//! The writer is woken for the first line and then collects for a moment, so that a busy node wakes it a few times a
//! second and an idle one never. The state is behind a `std::sync::Mutex`, held for a few moves of memory.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_types::{NetworkName, hold};

/// The most lines and the most bytes that wait.
const MOST_LINES: usize = 8192;
const MOST_BYTES: usize = 16 << 20;

/// How long the writer collects lines before it writes them.
const COLLECT: Duration = Duration::from_millis(100);

/// A recorded decision, without its number.
#[derive(Debug)]
pub(super) struct PendingDecision {
    pub(super) network: NetworkName,
    pub(super) body: Vec<u8>,
    /// Whether it needs no line before it, so that a file may begin with it.
    pub(super) is_whole: bool,
}

#[derive(Debug, Default)]
pub(super) struct DecisionQueue {
    state: Mutex<DecisionQueueState>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct DecisionQueueState {
    lines: Vec<PendingDecision>,
    bytes: usize,
    /// Whether the writer waits for the first line.
    asleep: bool,
    closed: bool,
}

impl DecisionQueue {
    /// Adds a line; `false` if there is no room for it.
    pub(super) fn push(&self, line: PendingDecision) -> bool {
        let mut state = self.lock();
        let bytes = state.bytes.saturating_add(line.body.len());
        if state.lines.len() >= MOST_LINES || bytes > MOST_BYTES {
            return false;
        }
        state.bytes = bytes;
        state.lines.push(line);
        let is_half_full = state.lines.len() == MOST_LINES / 2;
        if std::mem::take(&mut state.asleep) || is_half_full {
            self.wake.notify_one();
        }
        true
    }

    /// Waits for lines and takes all of them; `None` once the queue is closed and empty.
    pub(super) fn take(&self) -> Option<Vec<PendingDecision>> {
        let mut state = self.lock();
        while state.lines.is_empty() {
            if state.closed {
                return None;
            }
            state.asleep = true;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let is_early = |state: &mut DecisionQueueState| !state.closed && state.lines.len() < MOST_LINES / 2;
        let (mut state, _) =
            self.wake.wait_timeout_while(state, COLLECT, is_early).unwrap_or_else(PoisonError::into_inner);
        state.bytes = 0;
        Some(std::mem::take(&mut state.lines))
    }

    /// Opens the queue for a writer.
    pub(super) fn open(&self) {
        self.lock().closed = false;
    }

    /// Ends the writer once it has taken everything.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_all();
    }

    /// A poisoned lock is still usable: no critical section leaves the state inconsistent.
    fn lock(&self) -> MutexGuard<'_, DecisionQueueState> {
        hold(&self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: usize) -> PendingDecision {
        PendingDecision {
            network: NetworkName::new("pods").unwrap(),
            body: vec![b'x'; bytes],
            is_whole: false,
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_what_is_taken_makes_room() {
        let queue = DecisionQueue::default();
        assert_eq!((0..MOST_LINES + 3).filter(|_| queue.push(line(1))).count(), MOST_LINES);
        assert_eq!(queue.take().unwrap().len(), MOST_LINES);
        assert!(queue.push(line(MOST_BYTES)) && !queue.push(line(1)));
        assert_eq!(queue.take().unwrap().len(), 1);
        assert!(!queue.push(line(MOST_BYTES + 1)));
        assert!(queue.push(line(1)));
    }

    #[test]
    fn a_writer_waits_for_lines_and_ends_after_the_last_one() {
        let queue = DecisionQueue::default();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| std::iter::from_fn(|| queue.take()).flatten().count());
            while !queue.lock().asleep {
                std::thread::yield_now();
            }
            assert!(queue.push(line(1)) && queue.push(line(1)));
            queue.close();
            assert_eq!(writer.join().unwrap(), 2);
        });
        assert!(queue.take().is_none());
        queue.open();
        assert!(queue.push(line(1)) && queue.take().is_some());
    }
}
