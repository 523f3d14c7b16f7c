//! The snapshots that the writer takes: beside the groups when the segment is long, and at once after a failure.
//!
//! The first kind is driven by a thread of its own if the writer has one, and otherwise by the writer's steps, a piece with
//! each. Only the switch to the new segment is the writer's in both cases.

use std::io;
use std::sync::Arc;

use super::Writer;
use super::snapshot_thread::SnapshotThread;
use crate::compaction::{self, Compaction};
use crate::header::{Base, FORMAT_VERSION, SnapshotHeader};
use crate::log::Log;
use crate::source::SnapshotSource;

/// A snapshot that is taken beside the groups.
pub(super) enum OpenSnapshot {
    /// Driven by the writer's steps.
    Steps(Compaction),
    /// Driven by a thread of its own.
    Own(SnapshotThread),
}

impl Writer {
    /// Writes memory to the disk: a complete snapshot, and an empty segment that builds on nothing else.
    ///
    /// A failed fact was applied to its book before its place was taken, so the images contain it.
    pub(super) fn reopen<S: SnapshotSource + ?Sized>(&mut self, source: &S) -> io::Result<()> {
        let disk = Arc::clone(&self.options.disk);
        let first = self.queue.first_untaken();
        let log = self.prepare(Base::Snapshot, first, None)?;
        let header = self.snapshot_header(&log);
        let mut compaction = Compaction::begin(disk.as_ref(), header, source.parts(first))?;
        while !compaction.write_piece()? {}
        compaction.end(first.saturating_sub(1), &self.queue.staged())?;
        // Publish the segment first: a segment without its snapshot is known to be empty, whereas a snapshot without
        // its segment would mean a missing file.
        let log = self.publish(log)?;
        let live = compaction.publish(disk.as_ref())?;
        tracing::info!(number = log.number(), "reopened the checkpoint");
        self.compacted(live);
        self.next = first;
        _ = self.take_up(log);
        Ok(())
    }

    /// Begins a snapshot if one is due, or does what one in progress needs; returns whether it did anything.
    pub(super) fn compact<S: SnapshotSource + ?Sized>(&mut self, source: &S) -> bool {
        let Some(length) = self.log.as_ref().map(Log::length) else { return false };
        let ended = match self.snapshot.take() {
            None if length < self.compact_at => return false,
            None => self.begin_compaction(source).map(|()| None),
            Some(OpenSnapshot::Own(thread)) if !thread.is_finished() => {
                self.snapshot = Some(OpenSnapshot::Own(thread));
                return false;
            }
            Some(OpenSnapshot::Own(thread)) => thread.join().map(Some),
            Some(OpenSnapshot::Steps(compaction)) => self.continue_compaction(compaction),
        };
        match ended {
            Ok(None) => {}
            Ok(Some(size)) => self.compacted(size),
            Err(error) => self.postpone(length, &error),
        }
        true
    }

    /// Writes a piece; returns the snapshot's size if that was the end.
    fn continue_compaction(&mut self, mut compaction: Compaction) -> io::Result<Option<u64>> {
        // Everything in the images was staged before this step, and is in the log by now.
        let durable = self.next.saturating_sub(1);
        let advanced = compaction.advance(self.options.disk.as_ref(), || Ok(durable));
        match &advanced {
            Ok(None) => self.snapshot = Some(OpenSnapshot::Steps(compaction)),
            Ok(Some(_)) => {}
            Err(_) => compaction::abandon(self.options.disk.as_ref(), compaction.number()),
        }
        advanced
    }

    /// Switches to a new segment and begins the snapshot that it will build on.
    fn begin_compaction<S: SnapshotSource + ?Sized>(&mut self, source: &S) -> io::Result<()> {
        let sealed = self.log.as_ref().map(|log| log.durable(self.next.saturating_sub(1)));
        let next = self.prepare(Base::Log, self.next, sealed)?;
        let header = self.snapshot_header(&next);
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
        let parts = source.parts(self.next);
        self.snapshot = Some(if self.has_thread {
            let queue = Arc::clone(&self.queue);
            OpenSnapshot::Own(SnapshotThread::start(&self.options, queue, header, parts)?)
        } else {
            OpenSnapshot::Steps(Compaction::begin(self.options.disk.as_ref(), header, parts)?)
        });
        Ok(())
    }

    /// Abandons the snapshot in progress. The queue must say that the writer has failed or gone: the thread of the
    /// snapshot, whose end this waits for, takes that as its sign.
    pub(super) fn abandon_compaction(&mut self) {
        match self.snapshot.take() {
            None => {}
            Some(OpenSnapshot::Steps(compaction)) => {
                compaction::abandon(self.options.disk.as_ref(), compaction.number());
            }
            // It may have been completed just before.
            Some(OpenSnapshot::Own(thread)) => match thread.join() {
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "abandoned a snapshot"),
            },
        }
    }

    /// Retries a failed snapshot once the log has grown; until then the log has everything.
    fn postpone(&mut self, length: u64, error: &io::Error) {
        tracing::warn!(%error, "cannot take a snapshot; continuing with the log");
        self.compact_at = length + self.options.compact_above;
    }

    fn compacted(&mut self, live: u64) {
        self.compact_at = self.options.compact_above.max(live.saturating_mul(2));
    }

    /// The header of the snapshot that belongs to a new segment.
    fn snapshot_header(&self, log: &Log) -> SnapshotHeader {
        SnapshotHeader {
            version: FORMAT_VERSION,
            program: self.options.program.clone(),
            number: log.number(),
            segment: Some(log.durable(0).checksum),
            boot: self.options.boot.clone(),
            node: self.options.node.clone(),
            opened: self.options.clock.now(),
        }
    }
}
