//! The thread that takes one snapshot beside the writer's, so that no group waits for it.
//!
//! It drives a [`Compaction`], rests between its pieces, and ends with it. All that it shares with the writer is the disk
//! and the [`WriteQueue`], which tells it what is durable, and that the writer has failed or gone: then it abandons the
//! snapshot. The writer waits for its end before it reopens the log, so that nothing of an older snapshot happens after
//! that.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tenure_engine::ports::Clock;

use super::{Options, panicked};
use crate::compaction::{self, Compaction};
use crate::disk::Disk;
use crate::header::SnapshotHeader;
use crate::queue::WriteQueue;
use crate::source::Parts;

/// The rest after a piece, as a multiple of the time that the piece took: a snapshot is not urgent, and leaves the processor
/// and the disk to requests. The log's sync may wait for a piece that the file system has begun to write.
const REST: u32 = 3;

/// A snapshot that is taken by a thread of its own.
pub(super) struct SnapshotThread {
    thread: JoinHandle<io::Result<u64>>,
    disk: Arc<dyn Disk>,
    number: u64,
}

impl SnapshotThread {
    /// Begins a snapshot of these parts, whose facts go through this queue.
    pub(super) fn start(
        options: &Options,
        queue: Arc<WriteQueue>,
        header: SnapshotHeader,
        parts: Parts,
    ) -> io::Result<Self> {
        let (disk, number) = (Arc::clone(&options.disk), header.number);
        let work = SnapshotWork { disk: Arc::clone(&disk), clock: Arc::clone(&options.clock), queue };
        let thread = std::thread::Builder::new()
            .name("snapshot".to_owned())
            .spawn(move || work.take(header, parts))?;
        Ok(Self { thread, disk, number })
    }

    /// Whether [`join`](Self::join) returns immediately.
    pub(super) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for the thread's end. Returns the size of the published snapshot.
    pub(super) fn join(self) -> io::Result<u64> {
        self.thread.join().unwrap_or_else(|panic| {
            compaction::abandon(self.disk.as_ref(), self.number);
            let words = panicked::message(panic.as_ref());
            Err(io::Error::other(format!("the thread of the snapshot panicked: {words}")))
        })
    }
}

/// The parts of the writer that the thread works with.
struct SnapshotWork {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    queue: Arc<WriteQueue>,
}

impl SnapshotWork {
    /// Takes a snapshot, or abandons it.
    fn take(&self, header: SnapshotHeader, parts: Parts) -> io::Result<u64> {
        let number = header.number;
        let taken =
            Compaction::begin(self.disk.as_ref(), header, parts).and_then(|begun| self.complete(begun));
        if taken.is_err() {
            compaction::abandon(self.disk.as_ref(), number);
        }
        taken
    }

    fn complete(&self, mut compaction: Compaction) -> io::Result<u64> {
        loop {
            let began = self.clock.monotonic();
            if let Some(size) = compaction.advance(self.disk.as_ref(), || self.queue.wait_durable())? {
                return Ok(size);
            }
            let took = self.clock.monotonic().saturating_sub(began);
            self.queue.rest(took.saturating_mul(REST))?;
        }
    }
}
