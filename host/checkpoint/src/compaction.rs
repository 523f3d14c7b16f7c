//! Compaction: a snapshot taken bit by bit between groups, so that no request waits for all of it.

use std::io;

use crate::disk::Disk;
use crate::header::SnapshotHeader;
use crate::line::Line;
use crate::names::{self, Listing};
use crate::snapshot::SnapshotWriter;
use crate::source::{Parts, Source};

/// How much is written at a time: requests wait for one piece.
const PIECE: usize = 256 << 10;

/// A snapshot that is being taken.
pub(crate) struct Compaction {
    snapshot: SnapshotWriter,
    /// What was not looked at yet.
    parts: Parts,
}

impl Compaction {
    /// Begins one. The segment of its number is there already, so that what is staged from now on is in it; it begins with the
    /// place `first`.
    pub(crate) fn begin<S: Source + ?Sized>(
        disk: &dyn Disk,
        header: SnapshotHeader,
        source: &S,
        first: u64,
    ) -> io::Result<Self> {
        let snapshot = SnapshotWriter::begin(disk, header)?;
        Ok(Self { snapshot, parts: source.parts(first) })
    }

    /// Writes a piece; `true` when every part was looked at and is written.
    pub(crate) fn advance(&mut self) -> io::Result<bool> {
        if self.snapshot.is_drained() {
            let Some(lines) = self.parts.next() else { return Ok(true) };
            self.snapshot.add(lines);
        }
        self.snapshot.write(PIECE)?;
        Ok(false)
    }

    /// Makes the snapshot whole and durable under its temporary name. What was staged while the parts were looked at, and is
    /// not in the log that ends with the fact `before`, goes behind them: later parts have it already, and earlier ones do not.
    pub(crate) fn end(&mut self, before: u64, staged: &[(u64, Line)]) -> io::Result<()> {
        self.snapshot.end(before, staged)
    }

    /// Gives the ended snapshot its name. Returns its size.
    pub(crate) fn publish(self, disk: &dyn Disk) -> io::Result<u64> {
        self.snapshot.publish(disk)
    }

    /// Gives it up; the log has everything.
    pub(crate) fn abandon(self, disk: &dyn Disk) {
        self.snapshot.abandon(disk);
    }
}

/// Removes what neither the snapshot of this number nor the one before it needs.
pub(crate) fn sweep(disk: &dyn Disk, newest: u64) {
    let Ok(listing) = Listing::read(disk) else { return };
    let before = listing.snapshots.iter().rev().find(|number| **number < newest);
    // Before the first snapshot everything began with the first segment.
    let oldest = before.copied().unwrap_or(1);
    let logs = listing.logs.iter().filter(|number| **number < oldest).map(|number| names::log(*number));
    let snapshots =
        listing.snapshots.iter().filter(|number| **number < oldest).map(|number| names::snapshot(*number));
    for name in logs.chain(snapshots) {
        // What stays is removed by the next compaction.
        if let Err(error) = disk.remove(&name) {
            tracing::debug!(name, %error, "an old checkpoint file stays for now");
        }
    }
}
