//! Compaction: a snapshot taken piece by piece between groups, so that no request waits for all of it.

use std::io;

use crate::disk::Disk;
use crate::header::SnapshotHeader;
use crate::line::ChapterLine;
use crate::names::{self, Listing};
use crate::snapshot::SnapshotWriter;
use crate::source::{Parts, SnapshotSource};

/// How many bytes are written at a time; requests wait for one piece.
const PIECE: usize = 64 << 10;

/// A snapshot in progress.
pub(crate) struct Compaction {
    snapshot: SnapshotWriter,
    /// The parts that have not been read yet.
    parts: Parts,
}

impl Compaction {
    /// Begins a snapshot. The segment with its number already exists, so that everything staged from now on is in it;
    /// `first` is the place of its first fact.
    pub(crate) fn begin<S: SnapshotSource + ?Sized>(
        disk: &dyn Disk,
        header: SnapshotHeader,
        source: &S,
        first: u64,
    ) -> io::Result<Self> {
        let snapshot = SnapshotWriter::begin(disk, header)?;
        Ok(Self { snapshot, parts: source.parts(first) })
    }

    /// Writes a piece; `true` once all parts have been read and written.
    pub(crate) fn advance(&mut self) -> io::Result<bool> {
        if self.snapshot.is_drained() {
            let Some(lines) = self.parts.next() else { return Ok(true) };
            self.snapshot.add(lines);
        }
        self.snapshot.write(PIECE)?;
        Ok(false)
    }

    /// Completes the snapshot and makes it durable under its temporary name. `staged` is what was staged while the
    /// parts were read, and is not in the log that ends with the fact `before`. These facts follow the parts: later
    /// parts already contain them, earlier ones do not.
    pub(crate) fn end(&mut self, before: u64, staged: &[(u64, ChapterLine)]) -> io::Result<()> {
        self.snapshot.end(before, staged)
    }

    /// Renames the completed snapshot to its final name. Returns its size.
    pub(crate) fn publish(self, disk: &dyn Disk) -> io::Result<u64> {
        self.snapshot.publish(disk)
    }

    /// Abandons the snapshot; the log has everything.
    pub(crate) fn abandon(self, disk: &dyn Disk) {
        self.snapshot.abandon(disk);
    }
}

/// Removes the files that neither the snapshot with this number nor the one before it needs.
pub(crate) fn sweep(disk: &dyn Disk, newest: u64) {
    let Ok(listing) = Listing::read(disk) else { return };
    let before = listing.snapshots.iter().rev().find(|number| **number < newest);
    // Before the first snapshot, everything starts with the first segment.
    let oldest = before.copied().unwrap_or(1);
    let logs = listing.logs.iter().filter(|number| **number < oldest).map(|number| names::log(*number));
    let snapshots =
        listing.snapshots.iter().filter(|number| **number < oldest).map(|number| names::snapshot(*number));
    for name in logs.chain(snapshots) {
        // The next compaction removes what remains.
        if let Err(error) = disk.remove(&name) {
            tracing::debug!(name, %error, "cannot remove an old checkpoint file yet");
        }
    }
}
