//! What a recovery found and did: in words for the log, in names for the metrics.

use std::collections::BTreeMap;
use std::fmt;

/// Lines that nobody here knows, and that said that they can be done without: how many, by chapter and version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped(BTreeMap<(String, u32), u64>);

impl Skipped {
    /// One more line.
    pub(crate) fn add(&mut self, chapter: &str, version: u32) {
        *self.0.entry((chapter.to_owned(), version)).or_default() += 1;
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `3 of chapter effects, version 2`, one after the other.
impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, ((chapter, version), count)) in self.0.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(formatter, "{comma}{count} of chapter {chapter}, version {version}")?;
        }
        Ok(())
    }
}

/// What a recovery found and did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// No snapshot and no log: there was no state here.
    pub fresh: bool,
    /// This is not all that was durable in this boot, and nobody has confirmed what there is now. What was durable, somebody
    /// outside of the state directory must know.
    pub lost: bool,
    /// The snapshot that was read.
    pub snapshot: Option<u64>,
    /// A newer snapshot that was damaged, and in what way. It was put aside.
    pub damaged_snapshot: Option<String>,
    /// How many log segments were read.
    pub segments: usize,
    /// How many segments, begun after a failure and without their snapshots, were put aside.
    pub abandoned_segments: usize,
    /// How many files that were not whole yet were removed.
    pub unfinished_files: usize,
    /// How many groups were kept.
    pub groups: u64,
    /// How many facts those had.
    pub facts: u64,
    /// How many bytes of a torn group were cut.
    pub cut_bytes: u64,
    /// The last group was in the page cache and not on the disk.
    pub unsynced_group: bool,
    /// The boot is another one than that which wrote last.
    pub new_boot: bool,
    /// How many allocations ended because their boot did.
    pub ended_by_reboot: usize,
    /// The snapshot is ahead of the log, which cannot go on in its last segment.
    pub new_segment: bool,
    /// What nobody here knows, and that said that it can be done without. The next snapshot does not have it.
    pub skipped: Skipped,
    /// The place of the last fact.
    pub last: u64,
}

impl Report {
    /// The names of what was found; `clean` when that is nothing out of the ordinary.
    pub fn findings(&self) -> impl Iterator<Item = &'static str> + use<> {
        let found = [
            (self.fresh && !self.lost, "fresh"),
            (self.lost, "lost"),
            (self.damaged_snapshot.is_some(), "damaged-snapshot"),
            (self.abandoned_segments > 0, "abandoned-segment"),
            (self.unfinished_files > 0, "unfinished-file"),
            (self.cut_bytes > 0, "torn-tail"),
            (self.unsynced_group, "unsynced-group"),
            (self.new_boot, "new-boot"),
            (self.new_segment, "new-segment"),
            (!self.skipped.is_empty(), "skipped-facts"),
        ];
        let clean = found.iter().all(|(found, _)| !found);
        found.into_iter().chain([(clean, "clean")]).filter_map(|(found, name)| found.then_some(name))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fresh {
            return formatter.write_str(if self.lost { "the state was lost" } else { "no state was found" });
        }
        write!(
            formatter,
            "{} facts in {} groups of {} log segments",
            self.facts, self.groups, self.segments
        )?;
        if let Some(snapshot) = self.snapshot {
            write!(formatter, " on top of snapshot {snapshot}")?;
        }
        if let Some(damage) = &self.damaged_snapshot {
            write!(formatter, "; a newer snapshot was put aside: {damage}")?;
        }
        if self.abandoned_segments > 0 {
            let count = self.abandoned_segments;
            write!(formatter, "; {count} segments whose snapshots never came were put aside")?;
        }
        if self.unfinished_files > 0 {
            write!(formatter, "; {} unfinished files were removed", self.unfinished_files)?;
        }
        if self.unsynced_group {
            formatter.write_str("; a group was in memory only")?;
        }
        if self.cut_bytes > 0 {
            write!(formatter, "; {} bytes that nobody was told of were cut", self.cut_bytes)?;
        }
        if self.new_boot {
            let ended = self.ended_by_reboot;
            write!(formatter, "; the machine was booted, and {ended} allocations ended with their boot")?;
        }
        if self.new_segment {
            formatter.write_str("; the snapshot is ahead, and a new segment is begun")?;
        }
        if !self.skipped.is_empty() {
            write!(formatter, "; facts of a newer program were skipped, as they may be: {}", self.skipped)?;
        }
        if self.lost {
            formatter
                .write_str("; it is not all that was answered in this boot, and nobody has confirmed it")?;
        }
        Ok(())
    }
}
