//! The writer: the only one that writes while the daemon runs.
//!
//! It has no thread of its own: [`Writer::step`] does what is due, and [`Writer::run`] calls it from a thread, with another one
//! for each snapshot, which no group waits for. A simulation calls it whenever it likes, and each step then writes a piece of
//! the snapshot in progress. Between steps the writer holds nothing but the open segment and that snapshot.

mod options;
mod panicked;
mod running;
mod snapshot_thread;
mod snapshots;

use std::io;
use std::sync::Arc;

pub use self::options::Options;
pub use self::running::RunningWriter;
use self::snapshots::OpenSnapshot;
use crate::durable::Durable;
use crate::header::{Base, FORMAT_VERSION, LogHeader};
use crate::line;
use crate::log::Log;
use crate::queue::{self, CheckpointJournal, StagedLines, WriteQueue};
use crate::recovery::Tail;
use crate::source::SnapshotSource;

/// Whether another step would do something immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriterProgress {
    /// Something was done, and more may be due.
    Worked,
    /// Nothing is due until something is staged or time has passed.
    Idle,
}

/// Writes the queue to the disk.
pub struct Writer {
    options: Options,
    queue: Arc<WriteQueue>,
    /// The open segment; `None` after a failure, until it is reopened.
    log: Option<Log>,
    /// The snapshot that is taken beside the groups.
    snapshot: Option<OpenSnapshot>,
    /// Whether snapshots get a thread of their own, instead of a piece of each step.
    has_thread: bool,
    /// The highest number that a segment has had.
    number: u64,
    /// The place of the next fact to be written.
    next: u64,
    /// The length at which the segment is compacted.
    compact_at: u64,
    /// Whether the last step may have left something that was staged before it.
    is_early: bool,
}

impl Writer {
    /// Resumes where recovery ended. If the disk refuses, this does not fail: the journal reports it and recovers by
    /// itself.
    #[must_use]
    pub fn open(options: Options, tail: &Tail) -> (Self, CheckpointJournal) {
        let queue = Arc::new(WriteQueue::new(tail.next));
        let mut writer = Self {
            queue: Arc::clone(&queue),
            log: None,
            snapshot: None,
            has_thread: false,
            number: tail.number,
            next: tail.next,
            compact_at: options.compact_above,
            is_early: false,
            options,
        };
        let log = writer.resume(tail);
        match log {
            Ok(log) => _ = writer.take_up(log),
            Err(error) => writer.failed(Vec::new(), error),
        }
        writer.keep_room();
        (writer, CheckpointJournal::new(queue))
    }

    /// Opens the segment in which recovery ended, or begins the next one.
    fn resume(&mut self, tail: &Tail) -> io::Result<Log> {
        if tail.number > 0 {
            let last = Log::resume(self.options.disk.as_ref(), tail.number, tail.length, tail.end())?;
            if tail.resumable {
                tracing::info!(log = tail.number, "resuming the last log segment");
                return Ok(last);
            }
        }
        let log = self.publish(self.prepare(Base::Log, tail.next, tail.durable())?)?;
        tracing::info!(log = log.number(), "began a new log segment");
        Ok(log)
    }

    /// Does what is due: reopens after a failure, writes what is staged as one group, reserves room, and begins or
    /// continues a snapshot.
    pub fn step<S: SnapshotSource + ?Sized>(&mut self, source: &S) -> WriterProgress {
        self.step_early(source, usize::MAX)
    }

    /// As [`step`](Self::step), but as if all but the first `most` of the groups that wait had been staged during the step, as
    /// happens to a writer with a thread of its own. For simulations, in which nothing is.
    pub fn step_early<S: SnapshotSource + ?Sized>(&mut self, source: &S, most: usize) -> WriterProgress {
        // What waited at the end of a step is taken by the next one.
        let most = if std::mem::take(&mut self.is_early) { usize::MAX } else { most };
        if self.log.is_none() {
            match self.reopen(source) {
                Ok(()) => self.queue.reopened(),
                Err(error) => {
                    tracing::warn!(%error, "cannot reopen the checkpoint yet");
                    self.queue.fail(error);
                    return WriterProgress::Idle;
                }
            }
        }
        let group = self.queue.take_first(most);
        self.is_early = group.len() == most;
        let worked = !group.is_empty();
        if worked {
            self.write(group);
        } else {
            match self.log.as_ref().map(Log::is_in_place) {
                // Nobody waits, but the next request would; the node says now that it cannot serve it.
                Some(Err(error)) => self.failed(group, error),
                // What it recorded may have been deleted meanwhile.
                _ => self.tell_witness(),
            }
        }
        self.keep_room();
        let compacted = self.compact(source);
        if compacted || worked { WriterProgress::Worked } else { WriterProgress::Idle }
    }

    /// Writes a group and reports the result to its callers.
    fn write(&mut self, group: Vec<StagedLines>) {
        let started = self.options.clock.monotonic();
        let written = self.append(&group);
        let facts: usize = group.iter().map(|waiting| waiting.lines.len()).sum();
        if facts > 0 {
            let took = self.options.clock.monotonic().saturating_sub(started);
            let outcome = written.as_ref().map(|()| facts).map_err(|error| queue::explain(error).code);
            self.options.observer.sync(took, outcome, self.log.as_ref().map_or(0, Log::length));
        }
        match written {
            Ok(()) => self.queue.resolve(group, Ok(())),
            Err(error) => self.failed(group, error),
        }
    }

    fn append(&mut self, group: &[StagedLines]) -> io::Result<()> {
        let facts = || group.iter().flat_map(|waiting| (waiting.place..).zip(&waiting.lines));
        let (Some((first, _)), Some((last, _))) = (facts().next(), facts().last()) else { return Ok(()) };
        let mut bytes = Vec::new();
        for (place, fact) in facts() {
            line::encode_fact(&mut bytes, place, (first, last), fact);
        }
        let log = self.log.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        log.append(&bytes)?;
        self.next = last + 1;
        self.tell_witness();
        Ok(())
    }

    /// Continues in a durable segment. Returns the previous one.
    fn take_up(&mut self, log: Log) -> Option<Log> {
        self.options.observer.log(log.length());
        let before = self.log.replace(log);
        self.tell_witness();
        before
    }

    fn tell_witness(&self) {
        if let (Some(witness), Some(log)) = (&self.options.witness, &self.log) {
            witness.durable(&log.durable(self.next.saturating_sub(1)));
        }
    }

    /// Stops acknowledging. Memory now has facts that the disk may lack, so only a snapshot of memory can repair it.
    fn failed(&mut self, group: Vec<StagedLines>, error: io::Error) {
        tracing::error!(%error, waiting = group.len(), "cannot write the checkpoint; reopening it from memory");
        self.log = None;
        // First, since a snapshot's thread takes it as its sign, and may hang with the disk.
        self.queue.resolve(group, Err(error));
        self.abandon_compaction();
    }

    /// Reserves room ahead, and reports it if there is none.
    fn keep_room(&mut self) {
        let Some(log) = &mut self.log else { return };
        self.queue.set_full(log.keep_room(self.options.reserve).err().as_ref());
    }

    /// Writes the header of the next segment. `after` is the end of the segment that it continues, if it continues one.
    fn prepare(&self, base: Base, first: u64, after: Option<Durable>) -> io::Result<Log> {
        let header = LogHeader {
            version: FORMAT_VERSION,
            program: self.options.program.clone(),
            number: self.number + 1,
            first,
            base,
            after,
            boot: self.options.boot.clone(),
            node: self.options.node.clone(),
            opened: self.options.clock.now(),
        };
        Log::prepare(self.options.disk.as_ref(), header)
    }

    fn publish(&mut self, log: Log) -> io::Result<Log> {
        // If this fails, the number is used again: whether the name is durable is unknown, but the segment has no
        // facts.
        log.publish(self.options.disk.as_ref())?;
        self.number = log.number();
        Ok(log)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
        // The directory may be another writer's from now on.
        if let Some(OpenSnapshot::Own(thread)) = self.snapshot.take() {
            // It is abandoned, unless it has just been completed.
            let _ = thread.join();
        }
    }
}
