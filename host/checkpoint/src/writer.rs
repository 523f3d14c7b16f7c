//! The writer: the only one that writes while the daemon runs.
//!
//! It has no thread of its own: [`Writer::step`] does what is due, and [`Writer::run`] calls it from a thread. A
//! simulation calls it when it likes. Between steps nothing is held but the open segment.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tenure_engine::ports::{Clock, Observer};
use tenure_types::BootId;
use tokio::sync::oneshot;

use crate::compaction::{self, Compaction};
use crate::disk::Disk;
use crate::durable::Witness;
use crate::header::{Base, FORMAT_VERSION, LogHeader, SnapshotHeader};
use crate::line;
use crate::log::Log;
use crate::queue::{self, CheckpointJournal, Queue, Waiting};
use crate::recovery::Tail;
use crate::source::Source;

/// What this program calls itself in the files that it writes.
const PROGRAM: &str = concat!("tenured ", env!("CARGO_PKG_VERSION"));

/// What the writer is told.
#[derive(Clone)]
pub struct Options {
    /// The state directory.
    pub disk: Arc<dyn Disk>,
    /// Tells when a file was begun.
    pub clock: Arc<dyn Clock>,
    /// Hears of each sync.
    pub observer: Arc<dyn Observer>,
    /// Hears how far the log has come, before anybody who waits for it does.
    pub witness: Option<Arc<dyn Witness>>,
    /// The running boot.
    pub boot: BootId,
    /// The node's name, for people.
    pub node: String,
    /// What the program calls itself in the files that it writes, with its version.
    pub program: String,
    /// How much room is reserved ahead; half of it is for releases on a full disk.
    pub reserve: u64,
    /// The least length of a segment that is worth a snapshot.
    pub compact_above: u64,
}

impl Options {
    /// Options with the reserve and the compaction threshold of a node.
    #[must_use]
    pub fn new(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        boot: BootId,
        node: impl Into<String>,
    ) -> Self {
        let (witness, node, program, size) = (None, node.into(), PROGRAM.to_owned(), 4 << 20);
        Self { disk, clock, observer, witness, boot, node, program, reserve: size, compact_above: size }
    }
}

/// Whether another step would do something right away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Something was done, and more may be due.
    Worked,
    /// Nothing is due until something is staged or time has passed.
    Idle,
}

/// Drains the queue to the disk.
pub struct Writer {
    options: Options,
    queue: Arc<Queue>,
    /// The open segment; `None` after a failure, until it is reopened.
    log: Option<Log>,
    compaction: Option<Compaction>,
    /// The highest number that a segment has had.
    number: u64,
    /// The place of the next fact to be written.
    next: u64,
    /// The length at which the segment is compacted.
    compact_at: u64,
}

impl Writer {
    /// Resumes where recovery ended. A disk that refuses does not fail this: the journal says so and recovers by itself.
    #[must_use]
    pub fn open(options: Options, tail: &Tail) -> (Self, CheckpointJournal) {
        let queue = Arc::new(Queue::new(tail.next));
        let mut writer = Self {
            queue: Arc::clone(&queue),
            log: None,
            compaction: None,
            number: tail.number,
            next: tail.next,
            compact_at: options.compact_above,
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

    /// Opens the segment that recovery has ended in, or begins the one after it.
    fn resume(&mut self, tail: &Tail) -> io::Result<Log> {
        if tail.number > 0 {
            let last = Log::resume(self.options.disk.as_ref(), tail.number, tail.length, tail.end())?;
            if tail.resumable {
                tracing::info!(log = tail.number, "resuming the last log segment");
                return Ok(last);
            }
        }
        let log = self.publish(self.prepare(Base::Log, tail.next)?)?;
        tracing::info!(log = log.number(), "began a new log segment");
        Ok(log)
    }

    /// Does what is due: reopens after a failure, writes what is staged as one group, keeps room, takes a bit of a snapshot.
    pub fn step<S: Source + ?Sized>(&mut self, source: &S) -> Progress {
        if self.log.is_none() {
            match self.reopen(source) {
                Ok(()) => self.queue.reopened(),
                Err(error) => {
                    tracing::warn!(%error, "the checkpoint cannot be reopened yet");
                    self.queue.fail(error);
                    return Progress::Idle;
                }
            }
        }
        let group = self.queue.take();
        let worked = !group.is_empty();
        if worked {
            self.write(group);
        }
        self.keep_room();
        if self.compact(source) || worked { Progress::Worked } else { Progress::Idle }
    }

    /// Writes a group and tells everybody in it.
    fn write(&mut self, group: Vec<Waiting>) {
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

    fn append(&mut self, group: &[Waiting]) -> io::Result<()> {
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

    /// Writes on in a segment that is durable as far as it goes. Returns the one before it.
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

    /// Stops acknowledging. Memory has facts now that the disk may not have, so only a snapshot of memory mends it.
    fn failed(&mut self, group: Vec<Waiting>, error: io::Error) {
        tracing::error!(%error, waiting = group.len(), "the checkpoint could not be written; it is reopened from memory");
        self.log = None;
        if let Some(compaction) = self.compaction.take() {
            compaction.abandon(self.options.disk.as_ref());
        }
        self.queue.resolve(group, Err(error));
    }

    /// Makes the disk say what memory says: a whole snapshot and an empty segment that stands on nothing else.
    ///
    /// Whatever failed was applied to its book before its place was taken, so the images have it.
    fn reopen<S: Source + ?Sized>(&mut self, source: &S) -> io::Result<()> {
        let disk = Arc::clone(&self.options.disk);
        let first = self.queue.first_untaken();
        let log = self.prepare(Base::Snapshot, first)?;
        let mut compaction =
            Compaction::begin(disk.as_ref(), self.snapshot_header(log.number()), source, first)?;
        while !compaction.advance()? {}
        compaction.end(first.saturating_sub(1), &self.queue.staged())?;
        // The segment first: without its snapshot it is known to say nothing, the other way round it would be missing.
        let log = self.publish(log)?;
        let live = compaction.publish(disk.as_ref())?;
        tracing::info!(number = log.number(), "the checkpoint is reopened");
        self.compacted(log.number(), live);
        self.next = first;
        _ = self.take_up(log);
        Ok(())
    }

    /// Reserves room ahead, and says so when there is none.
    fn keep_room(&mut self) {
        let Some(log) = &mut self.log else { return };
        self.queue.set_full(log.keep_room(self.options.reserve).err().as_ref());
    }

    /// Takes a bit of a snapshot if one is due or under way; whether it did anything.
    fn compact<S: Source + ?Sized>(&mut self, source: &S) -> bool {
        let disk = Arc::clone(&self.options.disk);
        let Some(log) = &self.log else { return false };
        let (number, length) = (log.number(), log.length());
        let Some(mut compaction) = self.compaction.take() else {
            if length < self.compact_at {
                return false;
            }
            if let Err(error) = self.begin_compaction(source) {
                self.postpone(length, &error);
            }
            return true;
        };
        let ended = match compaction.advance() {
            // What was looked at was staged before this step, and is in the log by now.
            Ok(true) => compaction.end(self.next.saturating_sub(1), &[]).map(|()| true),
            other => other,
        };
        match ended {
            Ok(false) => self.compaction = Some(compaction),
            Ok(true) => match compaction.publish(disk.as_ref()) {
                Ok(live) => self.compacted(number, live),
                Err(error) => self.postpone(length, &error),
            },
            Err(error) => {
                compaction.abandon(disk.as_ref());
                self.postpone(length, &error);
            }
        }
        true
    }

    /// Goes over to a new segment and begins the snapshot that it will stand on.
    fn begin_compaction<S: Source + ?Sized>(&mut self, source: &S) -> io::Result<()> {
        let next = self.prepare(Base::Log, self.next)?;
        let number = next.number();
        match self.publish(next) {
            Ok(next) => {
                if let Some(sealed) = self.take_up(next) {
                    sealed.seal();
                }
            }
            Err(error) => {
                // Nobody knows whether the new name is durable, so neither segment can be gone on with.
                self.failed(Vec::new(), error);
                return Ok(());
            }
        }
        let header = self.snapshot_header(number);
        self.compaction = Some(Compaction::begin(self.options.disk.as_ref(), header, source, self.next)?);
        Ok(())
    }

    /// A snapshot could not be taken; the log has everything, so it is tried again when the log has grown.
    fn postpone(&mut self, length: u64, error: &io::Error) {
        tracing::warn!(%error, "a snapshot could not be taken; the log goes on");
        self.compact_at = length + self.options.compact_above;
    }

    fn compacted(&mut self, number: u64, live: u64) {
        self.compact_at = self.options.compact_above.max(live.saturating_mul(2));
        compaction::sweep(self.options.disk.as_ref(), number);
    }

    fn prepare(&self, base: Base, first: u64) -> io::Result<Log> {
        let header = LogHeader {
            version: FORMAT_VERSION,
            program: self.options.program.clone(),
            number: self.number + 1,
            first,
            base,
            boot: self.options.boot.clone(),
            node: self.options.node.clone(),
            opened: self.options.clock.now(),
        };
        Log::prepare(self.options.disk.as_ref(), header)
    }

    fn publish(&mut self, log: Log) -> io::Result<Log> {
        // A name whose fate is not known is taken again: what stands under it has no record.
        log.publish(self.options.disk.as_ref())?;
        self.number = log.number();
        Ok(log)
    }

    fn snapshot_header(&self, number: u64) -> SnapshotHeader {
        SnapshotHeader {
            version: FORMAT_VERSION,
            program: self.options.program.clone(),
            number,
            boot: self.options.boot.clone(),
            node: self.options.node.clone(),
            opened: self.options.clock.now(),
        }
    }

    /// Steps in a thread of its own until [`Running`] is stopped or dropped.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn run<S: Source + ?Sized>(mut self, source: Arc<S>) -> io::Result<Running> {
        let queue = Arc::clone(&self.queue);
        let (ends, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(move || {
            let _ends: oneshot::Sender<()> = ends;
            while self.step(source.as_ref()) == Progress::Worked || self.queue.wait() {}
        })?;
        Ok(Running { queue, thread: Some(thread), ended })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// A writer in its thread. Dropping it writes what is staged and ends the thread.
pub struct Running {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
    /// Resolves when the thread ends, in whatever way.
    ended: oneshot::Receiver<()>,
}

impl Running {
    /// Asks the thread to write what is staged and to end.
    pub fn stop(&self) {
        self.queue.stop();
    }

    /// Waits until the thread has ended.
    ///
    /// # Errors
    /// What it said when it panicked. All tickets have failed then.
    pub async fn ended(&mut self) -> Result<(), String> {
        let Some(thread) = &self.thread else { return Ok(()) };
        if !thread.is_finished() {
            // Nothing is ever sent: the sender goes with the thread.
            let _ = (&mut self.ended).await;
        }
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().map_err(|panic| {
            let words = panic.downcast_ref::<&str>().map(ToString::to_string);
            words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
        })
    }

    /// Leaves the thread to itself, for a caller that cannot wait for a disk that hangs.
    pub fn leave(mut self) {
        self.thread = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.queue.stop();
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has failed every ticket by being gone.
            let _ = thread.join();
        }
    }
}
