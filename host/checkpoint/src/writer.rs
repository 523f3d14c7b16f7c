//! The writer: the only one that writes while the daemon runs.
//!
//! It has no thread of its own: [`Writer::step`] does what is due, and [`Writer::run`] calls it from a thread. A
//! simulation calls it whenever it likes. Between steps the writer holds nothing but the open segment.

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

/// How this program identifies itself in the files that it writes.
const PROGRAM: &str = concat!("tenured ", env!("CARGO_PKG_VERSION"));

/// The writer's settings.
#[derive(Clone)]
pub struct Options {
    /// The state directory.
    pub disk: Arc<dyn Disk>,
    /// Used for the creation time of files.
    pub clock: Arc<dyn Clock>,
    /// Notified of each sync.
    pub observer: Arc<dyn Observer>,
    /// Notified how far the log has come, before those who wait for it.
    pub witness: Option<Arc<dyn Witness>>,
    /// The running boot.
    pub boot: BootId,
    /// The node's name, for people.
    pub node: String,
    /// How the program identifies itself in the files that it writes, with its version.
    pub program: String,
    /// How much room is reserved ahead, in bytes; half of it is for releases on a full disk.
    pub reserve: u64,
    /// The segment length in bytes from which a snapshot is worthwhile.
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

/// Whether another step would do something immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Something was done, and more may be due.
    Worked,
    /// Nothing is due until something is staged or time has passed.
    Idle,
}

/// Writes the queue to the disk.
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
    /// Resumes where recovery ended. If the disk refuses, this does not fail: the journal reports it and recovers by
    /// itself.
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

    /// Opens the segment in which recovery ended, or begins the next one.
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

    /// Does what is due: reopens after a failure, writes what is staged as one group, reserves room, writes a piece
    /// of a snapshot.
    pub fn step<S: Source + ?Sized>(&mut self, source: &S) -> Progress {
        if self.log.is_none() {
            match self.reopen(source) {
                Ok(()) => self.queue.reopened(),
                Err(error) => {
                    tracing::warn!(%error, "cannot reopen the checkpoint yet");
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

    /// Writes a group and reports the result to its callers.
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
    fn failed(&mut self, group: Vec<Waiting>, error: io::Error) {
        tracing::error!(%error, waiting = group.len(), "cannot write the checkpoint; reopening it from memory");
        self.log = None;
        if let Some(compaction) = self.compaction.take() {
            compaction.abandon(self.options.disk.as_ref());
        }
        self.queue.resolve(group, Err(error));
    }

    /// Writes memory to the disk: a complete snapshot, and an empty segment that builds on nothing else.
    ///
    /// Whatever failed was applied to its book before its place was taken, so the images contain it.
    fn reopen<S: Source + ?Sized>(&mut self, source: &S) -> io::Result<()> {
        let disk = Arc::clone(&self.options.disk);
        let first = self.queue.first_untaken();
        let log = self.prepare(Base::Snapshot, first)?;
        let mut compaction =
            Compaction::begin(disk.as_ref(), self.snapshot_header(log.number()), source, first)?;
        while !compaction.advance()? {}
        compaction.end(first.saturating_sub(1), &self.queue.staged())?;
        // Publish the segment first: a segment without its snapshot is known to be empty, whereas a snapshot without
        // its segment would mean a missing file.
        let log = self.publish(log)?;
        let live = compaction.publish(disk.as_ref())?;
        tracing::info!(number = log.number(), "reopened the checkpoint");
        self.compacted(log.number(), live);
        self.next = first;
        _ = self.take_up(log);
        Ok(())
    }

    /// Reserves room ahead, and reports it if there is none.
    fn keep_room(&mut self) {
        let Some(log) = &mut self.log else { return };
        self.queue.set_full(log.keep_room(self.options.reserve).err().as_ref());
    }

    /// Begins or continues a snapshot if one is due; returns whether it did anything.
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
            // Everything in the images was staged before this step, and is in the log by now.
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

    /// Switches to a new segment and begins the snapshot that it will build on.
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
                // The new name may or may not be durable, so neither segment can be continued.
                self.failed(Vec::new(), error);
                return Ok(());
            }
        }
        let header = self.snapshot_header(number);
        self.compaction = Some(Compaction::begin(self.options.disk.as_ref(), header, source, self.next)?);
        Ok(())
    }

    /// Retries a failed snapshot once the log has grown; until then the log has everything.
    fn postpone(&mut self, length: u64, error: &io::Error) {
        tracing::warn!(%error, "cannot take a snapshot; continuing with the log");
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
        // If this fails, the number is used again: whether the name is durable is unknown, but the segment has no
        // facts.
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

    /// Runs the steps in a thread of its own until [`Running`] is stopped or dropped.
    ///
    /// # Errors
    /// If the thread cannot be started.
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
    /// Resolves when the thread ends, in any way.
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
    /// The panic message, if it panicked. Then all tickets have failed.
    pub async fn ended(&mut self) -> Result<(), String> {
        let Some(thread) = &self.thread else { return Ok(()) };
        if !thread.is_finished() {
            // Nothing is ever sent: the sender is dropped with the thread.
            let _ = (&mut self.ended).await;
        }
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().map_err(|panic| {
            let words = panic.downcast_ref::<&str>().map(ToString::to_string);
            words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
        })
    }

    /// Detaches the thread, for a caller that cannot wait for a hanging disk.
    pub fn leave(mut self) {
        self.thread = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.queue.stop();
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has failed all tickets when it was dropped.
            let _ = thread.join();
        }
    }
}
