//! Whether each segment begins where the one before it ends, and reaches as far as the snapshot that was taken beside it.
//!
//! A segment that lost whole groups at its end looks intact by itself; only a later file shows that there was more:
//! the next segment's header, which says where this one ended, or a snapshot that was completed later.

use crate::durable::Durable;
use crate::header::LogHeader;
use crate::{Error, names};

/// A snapshot that was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Snapshot {
    pub(crate) number: u64,
    /// The last place that it may contain.
    pub(crate) through: u64,
    /// The checksum of the first line of its segment, if it says that.
    pub(crate) segment: Option<u32>,
}

/// How far the files that were read so far go.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reached {
    /// The end of the last segment; `None` before the first.
    pub(crate) end: Option<Durable>,
    /// The snapshot that was read.
    pub(crate) snapshot: Option<Snapshot>,
    /// Whether the snapshot contains everything up to that place without any segment, because it reopened the log.
    pub(crate) is_alone: bool,
}

impl Reached {
    /// The place after everything that the snapshot may contain.
    pub(crate) fn behind_snapshot(&self) -> u64 {
        self.snapshot.map_or(1, |snapshot| snapshot.through.saturating_add(1))
    }

    /// Checks that a segment begins where the files before it end. `checksum` is that of its first line.
    ///
    /// # Errors
    /// [`Error::Damaged`] names the file that lacks something.
    pub(crate) fn admits(&self, header: &LogHeader, checksum: u32) -> Result<(), Error> {
        match self.end {
            Some(end) => self.continues(&end, header),
            None => self.begins(header, checksum),
        }
    }

    /// The same for the first segment that is read.
    fn begins(&self, header: &LogHeader, checksum: u32) -> Result<(), Error> {
        let (file, first) = (names::log(header.number), header.first);
        let before = self.behind_snapshot();
        if let Some(snapshot) =
            self.snapshot.filter(|snapshot| snapshot.segment.is_some_and(|of| of != checksum))
        {
            let why = format!("it was taken beside another {file} than the one that is there");
            return Err(damaged(names::snapshot(snapshot.number), why));
        }
        if first > before || (self.snapshot.is_none() && first != before) {
            return Err(damaged(
                file,
                format!("it begins with fact {first}, and what is before it ends before fact {before}"),
            ));
        }
        Ok(())
    }

    /// The same for one that follows a segment with this end.
    fn continues(&self, end: &Durable, header: &LogHeader) -> Result<(), Error> {
        let (before, file, first) = (names::log(end.log), names::log(header.number), header.first);
        if let Some(after) = header.after.filter(|after| after != end) {
            let same = (after.log, after.fact, after.length) == (end.log, end.fact, end.length);
            let other = if same { ", with another last group" } else { "" };
            let why = format!(
                "it ends with fact {} at byte {}, but {file} continues {}, which ended with fact {} at byte {}{other}",
                end.fact,
                end.length,
                names::log(after.log),
                after.fact,
                after.length,
            );
            return Err(damaged(before, why));
        }
        // A snapshot that reopened the log may be ahead of its segment; the next start then begins one behind both.
        let jumps = self.is_alone && end.fact < first && first == self.behind_snapshot();
        if jumps || first == end.fact.saturating_add(1) {
            return Ok(());
        }
        let why = format!("it ends with fact {}, but {file} begins with fact {first}", end.fact);
        Err(damaged(before, why))
    }

    /// Checks that the segment that was read beside the snapshot has everything that was durable when the snapshot was
    /// completed: its parts were read one after another, so it needs those facts.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it has less.
    pub(crate) fn is_complete(&self) -> Result<(), Error> {
        let (Some(end), Some(Snapshot { number, through, .. })) = (self.end, self.snapshot) else {
            return Ok(());
        };
        if self.is_alone || end.fact >= through {
            return Ok(());
        }
        let snapshot = names::snapshot(number);
        let why =
            format!("it ends with fact {}, but had fact {through} when {snapshot} was completed", end.fact);
        Err(damaged(names::log(end.log), why))
    }
}

fn damaged(file: String, why: String) -> Error {
    Error::Damaged { file, offset: 0, why }
}

#[cfg(test)]
mod tests;
