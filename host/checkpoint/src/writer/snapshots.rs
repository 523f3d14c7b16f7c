//! The snapshots that the writer takes: a piece with each step when the segment is long, and at once after a failure.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::Writer;
use crate::compaction::{self, Compaction};
use crate::header::{Base, FORMAT_VERSION, SnapshotHeader};
use crate::log::Log;
use crate::source::SnapshotSource;

impl Writer {
    /// Writes memory to the disk: a complete snapshot, and an empty segment that builds on nothing else.
    ///
    /// A failed fact was applied to its book before its place was taken, so the images contain it.
    pub(super) fn reopen<S: SnapshotSource + ?Sized>(&mut self, source: &S) -> io::Result<()> {
        let disk = Arc::clone(&self.options.disk);
        let first = self.queue.first_untaken();
        let log = self.prepare(Base::Snapshot, first, None)?;
        let mut compaction = Compaction::begin(disk.as_ref(), self.snapshot_header(&log), source, first)?;
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

    /// How long the writer leaves the snapshot in progress alone; `None` if there is none, or it has rested.
    pub(super) fn rest(&self) -> Option<Duration> {
        self.compaction.as_ref()?;
        let rest = self.rested_at.saturating_sub(self.options.clock.monotonic());
        Some(rest).filter(|rest| !rest.is_zero())
    }

    /// As [`compact`](Self::compact), and rests afterwards for longer than that took.
    pub(super) fn compact_timed<S: SnapshotSource + ?Sized>(&mut self, source: &S) -> bool {
        let began = self.options.clock.monotonic();
        let compacted = self.compact(source);
        if compacted {
            let now = self.options.clock.monotonic();
            self.rested_at = now + now.saturating_sub(began).saturating_mul(self.options.snapshot_rest);
        }
        compacted
    }

    /// Begins or continues a snapshot if one is due; returns whether it did anything.
    fn compact<S: SnapshotSource + ?Sized>(&mut self, source: &S) -> bool {
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
