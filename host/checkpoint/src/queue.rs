//! Facts that are staged but not yet durable: the queue between the engine and the writer.
//!
//! One `std::sync::Mutex` guards all of it. It is held for a few moves of memory and never during disk I/O, so
//! `stage` may be called while a book is locked. Lines are encoded before it is taken; only their places are assigned
//! under it. Two threads wait on it: the writer for what is staged, and the thread of a snapshot for groups to end.
//!
//! ```text
//!           a group fails                      a snapshot and a new segment are durable
//! serving ────────────────▶ failed: tickets fail ─────────────────────────────────────▶ serving
//!    ▲ │ no room to reserve
//!    └─┴─▶ full: health() refuses ADD, tickets still resolve
//! ```

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_engine::ports::{Journal, Ticket};
use tenure_ledger::Fact;
use tenure_types::{Error, ErrorCode, hold};
use tokio::sync::oneshot;

use crate::disk;
use crate::line::ChapterLine;

/// How often the writer looks at a disk that refused, without work: it may have room again, or work.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How often it looks without work whether the log is still where a start would find it. Each group of facts looks, too; this is for the
/// node's conditions, and an idle node is not woken more often for it.
const LOOK_IDLE: Duration = Duration::from_secs(4);

/// The engine's end of the checkpoint.
#[derive(Clone)]
pub struct CheckpointJournal {
    queue: Arc<WriteQueue>,
}

impl CheckpointJournal {
    pub(crate) fn new(queue: Arc<WriteQueue>) -> Self {
        Self { queue }
    }

    /// Queues lines to be made durable together, in one group or not at all. Returns the place of the first.
    pub fn stage_lines(&self, lines: impl IntoIterator<Item = ChapterLine>) -> (u64, Ticket) {
        let lines: Vec<ChapterLine> = lines.into_iter().collect();
        let (sender, ticket) = Ticket::new();
        let mut state = self.queue.lock();
        let place = state.next;
        state.next += lines.len() as u64;
        // Without a writer, the sender is dropped and the ticket fails.
        if !state.closed {
            state.waiting.push(StagedLines { place, lines, sender });
        }
        drop(state);
        self.queue.wake.notify_one();
        (place, ticket)
    }
}

impl Journal for CheckpointJournal {
    fn stage(&self, facts: &[Fact]) -> (u64, Ticket) {
        self.stage_lines(facts.iter().map(ChapterLine::from))
    }

    fn barrier(&self) -> Ticket {
        let (sender, ticket) = Ticket::new();
        let mut state = self.queue.lock();
        let answer = match &state.failed {
            Some(error) => Err(error.clone()),
            None if state.waiting.is_empty() && state.writing.is_none() => Ok(()),
            None => {
                let place = state.next;
                state.waiting.push(StagedLines { place, lines: Vec::new(), sender });
                drop(state);
                self.queue.wake.notify_one();
                return ticket;
            }
        };
        drop(state);
        // We still have the ticket, so the receiver exists.
        let _ = sender.send(answer);
        ticket
    }

    fn health(&self) -> Result<(), Error> {
        let state = self.queue.lock();
        state.trouble().map_or(Ok(()), |error| Err(error.clone()))
    }
}

/// Facts that must become durable together, or a barrier, with a caller that waits for them.
pub(crate) struct StagedLines {
    /// The place of the first fact.
    pub(crate) place: u64,
    /// The facts; empty for a barrier.
    pub(crate) lines: Vec<ChapterLine>,
    sender: oneshot::Sender<Result<(), Error>>,
}

struct StagedFacts {
    next: u64,
    waiting: Vec<StagedLines>,
    /// The place of the first fact of the group that is being written.
    writing: Option<u64>,
    /// Memory and disk differ: the failure, until the log is reopened.
    failed: Option<Error>,
    /// There is no room to reserve.
    full: Option<Error>,
    stopping: bool,
    /// The writer has gone.
    closed: bool,
}

impl StagedFacts {
    /// Why the disk refuses, if it does.
    fn trouble(&self) -> Option<&Error> {
        self.failed.as_ref().or(self.full.as_ref())
    }

    /// The place of the first fact that may not be durable, as long as the writer has not failed.
    fn first_pending(&self) -> u64 {
        self.writing.or_else(|| self.waiting.first().map(|waiting| waiting.place)).unwrap_or(self.next)
    }

    /// Refuses if the writer has failed or gone.
    fn going_on(&self) -> io::Result<()> {
        self.failed.as_ref().map_or(Ok(()), |error| Err(io::Error::other(error.clone())))
    }
}

/// The queue between the engine and the writer.
pub(crate) struct WriteQueue {
    state: Mutex<StagedFacts>,
    /// Wakes the writer.
    wake: Condvar,
    /// Wakes the thread of a snapshot, when a group has ended or the writer has gone.
    settled: Condvar,
}

impl WriteQueue {
    pub(crate) fn new(next: u64) -> Self {
        let state = StagedFacts {
            next,
            waiting: Vec::new(),
            writing: None,
            failed: None,
            full: None,
            stopping: false,
            closed: false,
        };
        Self { state: Mutex::new(state), wake: Condvar::new(), settled: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, StagedFacts> {
        hold(&self.state)
    }

    /// Takes everything that waits, to be written as one group.
    pub(crate) fn take(&self) -> Vec<StagedLines> {
        self.take_first(usize::MAX)
    }

    /// Takes what was staged first, as if the rest had been staged later.
    pub(crate) fn take_first(&self, most: usize) -> Vec<StagedLines> {
        let mut state = self.lock();
        state.writing = state.waiting.first().map(|waiting| waiting.place);
        let most = most.min(state.waiting.len());
        let later = state.waiting.split_off(most);
        std::mem::replace(&mut state.waiting, later)
    }

    /// The place of the first fact that has not been taken.
    pub(crate) fn first_untaken(&self) -> u64 {
        let state = self.lock();
        state.waiting.first().map_or(state.next, |waiting| waiting.place)
    }

    /// The waiting facts, each with its place; they stay in the queue.
    pub(crate) fn staged(&self) -> Vec<(u64, ChapterLine)> {
        let state = self.lock();
        let facts = state.waiting.iter().flat_map(|waiting| (waiting.place..).zip(&waiting.lines));
        facts.map(|(place, line)| (place, line.clone())).collect()
    }

    /// Reports to all callers of a group that it is durable, or why not; after a failure, nothing more is
    /// acknowledged until the log is reopened.
    pub(crate) fn resolve(&self, group: Vec<StagedLines>, result: io::Result<()>) {
        let answer = result.map_err(|error| explain(&error));
        let mut state = self.lock();
        state.writing = None;
        if let Err(error) = &answer {
            state.failed = Some(error.clone());
        }
        drop(state);
        self.settled.notify_one();
        for waiting in group {
            // The caller may be gone.
            let _ = waiting.sender.send(answer.clone());
        }
    }

    /// Fails everything that waits, because the log could not be opened. The facts go into the snapshot that reopens
    /// it.
    pub(crate) fn fail(&self, error: io::Error) {
        let group = self.take();
        self.resolve(group, Err(error));
    }

    /// Records that the disk has what memory has.
    pub(crate) fn reopened(&self) {
        self.lock().failed = None;
    }

    /// Records whether there is room to reserve.
    pub(crate) fn set_full(&self, error: Option<&io::Error>) {
        self.lock().full = error.map(explain);
    }

    /// Asks the writer to write what waits and to end.
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
        self.wake.notify_one();
    }

    /// Called when the writer ends in any way: fails everything that waits now or is staged later.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.failed = Some(Error::new(ErrorCode::CheckpointFailed, "the checkpoint has stopped"));
        state.waiting.clear();
        drop(state);
        self.settled.notify_one();
    }

    /// Waits for work, or until the disk is to be looked at again; `false` if there is none and never will be.
    pub(crate) fn wait(&self) -> bool {
        let mut state = self.lock();
        loop {
            if !state.waiting.is_empty() {
                return true;
            }
            if state.stopping {
                return false;
            }
            let pause = if state.trouble().is_some() { LOOK_AGAIN } else { LOOK_IDLE };
            let (again, timeout) =
                self.wake.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner);
            state = again;
            if timeout.timed_out() {
                return true;
            }
        }
    }

    /// Waits until everything that has been staged so far is durable. Returns the place of the last such fact.
    ///
    /// # Errors
    /// If the writer fails or goes meanwhile. It does not go on before the caller has ended, so this cannot be missed.
    pub(crate) fn wait_durable(&self) -> io::Result<u64> {
        let state = self.lock();
        let next = state.next;
        let waits = |state: &mut StagedFacts| state.failed.is_none() && state.first_pending() < next;
        let state = self.settled.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        state.going_on()?;
        Ok(next.saturating_sub(1))
    }

    /// Waits for this long.
    ///
    /// # Errors
    /// If the writer fails or goes meanwhile: immediately.
    pub(crate) fn rest(&self, pause: Duration) -> io::Result<()> {
        let state = self.lock();
        let waits = |state: &mut StagedFacts| state.failed.is_none();
        let waited = self.settled.wait_timeout_while(state, pause, waits);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.going_on()
    }
}

/// The error that the engine gets when the disk refuses.
pub(crate) fn explain(error: &io::Error) -> Error {
    let code = if disk::is_full(error) { ErrorCode::DiskFull } else { ErrorCode::CheckpointFailed };
    Error::new(code, format!("cannot write the checkpoint: {error}"))
}
