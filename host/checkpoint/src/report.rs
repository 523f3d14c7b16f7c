//! The result of a recovery: a sentence for the log, names for the metrics.

use std::collections::BTreeMap;
use std::fmt;

/// Optional lines that no chapter here knows: their number by chapter and version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped(BTreeMap<(String, u32), u64>);

impl Skipped {
    /// Counts a line.
    pub(crate) fn add(&mut self, chapter: &str, version: u32) {
        *self.0.entry((chapter.to_owned(), version)).or_default() += 1;
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// For example `3 of chapter effects, version 2`, separated by commas.
impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, ((chapter, version), count)) in self.0.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(formatter, "{comma}{count} of chapter {chapter}, version {version}")?;
        }
        Ok(())
    }
}

/// The findings and repairs of a recovery.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryReport {
    /// There was neither a snapshot nor a log, so there was no state.
    pub fresh: bool,
    /// Part of what was durable in this boot is missing, and nobody has confirmed the present state. A witness
    /// outside the state directory has to know what was durable.
    pub lost: bool,
    /// The snapshot that was read.
    pub snapshot: Option<u64>,
    /// A newer snapshot that was damaged, and how. It was quarantined.
    pub damaged_snapshot: Option<String>,
    /// How many log segments were read.
    pub segments: usize,
    /// How many segments were quarantined because they began after a failure and have no snapshot.
    pub abandoned_segments: usize,
    /// How many incomplete files were removed.
    pub unfinished_files: usize,
    /// How many groups were kept.
    pub groups: u64,
    /// How many facts these groups had.
    pub facts: u64,
    /// How many bytes of a torn group were cut off.
    pub cut_bytes: u64,
    /// The last group was in the page cache but not on the disk.
    pub unsynced_group: bool,
    /// Another boot was the last to write.
    pub new_boot: bool,
    /// How many allocations the reboot ended.
    pub ended_by_reboot: usize,
    /// The snapshot is ahead of the log, so the last segment cannot be continued.
    pub new_segment: bool,
    /// Optional lines that no chapter here knows. The next snapshot will not contain them.
    pub skipped: Skipped,
    /// The place of the last fact.
    pub last: u64,
}

impl RecoveryReport {
    /// The names of what was found; only `clean` if nothing is out of the ordinary.
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

impl fmt::Display for RecoveryReport {
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
            write!(formatter, "; a newer snapshot was quarantined: {damage}")?;
        }
        if self.abandoned_segments > 0 {
            let count = self.abandoned_segments;
            write!(formatter, "; {count} segments without their snapshots were quarantined")?;
        }
        if self.unfinished_files > 0 {
            write!(formatter, "; {} unfinished files were removed", self.unfinished_files)?;
        }
        if self.unsynced_group {
            formatter.write_str("; a group was only in the page cache")?;
        }
        if self.cut_bytes > 0 {
            write!(formatter, "; {} unacknowledged bytes were cut off", self.cut_bytes)?;
        }
        if self.new_boot {
            let ended = self.ended_by_reboot;
            write!(formatter, "; the machine rebooted, which ended {ended} allocations")?;
        }
        if self.new_segment {
            formatter.write_str("; the snapshot is ahead of the log, so a new segment begins")?;
        }
        if !self.skipped.is_empty() {
            write!(formatter, "; optional facts of a newer program were skipped: {}", self.skipped)?;
        }
        if self.lost {
            formatter.write_str(
                "; facts that were acknowledged in this boot are missing, and nobody has confirmed the state",
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_skipped_is_a_list() {
        let mut skipped = Skipped::default();
        assert_eq!((skipped.to_string().as_str(), skipped.is_empty()), ("", true));
        (0..3).for_each(|_| skipped.add("effects", 2));
        assert_eq!(skipped.to_string(), "3 of chapter effects, version 2");
        skipped.add("leases", 1);
        assert_eq!(skipped.to_string(), "3 of chapter effects, version 2, 1 of chapter leases, version 1");
    }
}
