//! Compaction: a snapshot taken piece by piece, so that the log shares the disk with one piece at a time.
//!
//! Its driver calls [`Compaction::advance`] until it ends: a thread of its own beside the writer's, or the writer's steps in
//! a simulation. It holds no lock and knows nothing of groups; its driver tells it what of them is durable.
//!
//! ```text
//! reading parts ──▶ written ──the log has what they contain──▶ ended, synced ──rename, directory sync──▶ published, swept
//!       └──────────────┴───────────────────────┴────────────────────┴──any error──▶ abandoned
//! ```

use std::io;

use crate::disk::Disk;
use crate::header::SnapshotHeader;
use crate::line::ChapterLine;
use crate::names::{self, Listing};
use crate::snapshot::SnapshotWriter;
use crate::source::Parts;

/// How many bytes are written at a time: a sync of the log may have to wait for one piece.
const PIECE: usize = 64 << 10;

/// A snapshot in progress.
pub(crate) struct Compaction {
    snapshot: SnapshotWriter,
    /// The parts that have not been read yet.
    parts: Parts,
}

impl Compaction {
    /// Begins a snapshot of these parts. The segment with its number already exists, so that everything staged from now
    /// on is in it.
    pub(crate) fn begin(disk: &dyn Disk, header: SnapshotHeader, parts: Parts) -> io::Result<Self> {
        Ok(Self { snapshot: SnapshotWriter::begin(disk, header)?, parts })
    }

    /// The number of the snapshot.
    pub(crate) fn number(&self) -> u64 {
        self.snapshot.number()
    }

    /// Writes a piece or, once there are no more, ends and publishes the snapshot; returns its size then.
    ///
    /// `durable` is called once all parts have been read and written. It returns the place of a fact up to which the log
    /// is durable by then, and contains all that the parts do.
    pub(crate) fn advance(
        &mut self,
        disk: &dyn Disk,
        durable: impl FnOnce() -> io::Result<u64>,
    ) -> io::Result<Option<u64>> {
        if !self.write_piece()? {
            return Ok(None);
        }
        self.end(durable()?, &[])?;
        self.publish(disk).map(Some)
    }

    /// Writes a piece; `true` once all parts have been read and written.
    pub(crate) fn write_piece(&mut self) -> io::Result<bool> {
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

    /// Renames the completed snapshot to its final name, and removes what it replaces. Returns its size.
    pub(crate) fn publish(&self, disk: &dyn Disk) -> io::Result<u64> {
        let size = self.snapshot.publish(disk)?;
        sweep(disk, self.number());
        Ok(size)
    }
}

/// Abandons the snapshot with this number, of which nothing else writes any more; the log has everything.
pub(crate) fn abandon(disk: &dyn Disk, number: u64) {
    // If this fails, the next start removes the file.
    let _ = disk.remove(&names::temporary(&names::snapshot(number)));
}

/// Removes the files that neither the snapshot with this number nor the one before it needs.
fn sweep(disk: &dyn Disk, newest: u64) {
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
