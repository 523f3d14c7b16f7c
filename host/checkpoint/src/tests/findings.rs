//! Findings of a start, and how they are reported.

use std::collections::BTreeSet;

use super::fixture::{NOW, Node, boot};
use crate::sim::{Faults, SimDisk};
use crate::{RecoveryReport, recover};

fn look(disk: &SimDisk, boot_number: u64) -> RecoveryReport {
    recover(disk, &boot(boot_number), NOW).unwrap().report
}

fn findings(report: &RecoveryReport) -> Vec<&'static str> {
    report.findings().collect()
}

#[test]
fn a_start_says_what_it_found() {
    let disk = SimDisk::new(0);
    assert_eq!(findings(&look(&disk, 1)), ["fresh"]);
    let mut node = Node::start(&disk, 1);
    drop((node.define(0), node.give(0, 1)));
    node.settle();
    let report = look(&disk, 1);
    assert_eq!(findings(&report), ["clean"]);
    assert_eq!(report.to_string(), "4 facts in 1 groups of 1 log segments");

    let log = disk.contents("log.0000000001").unwrap();
    disk.put("log.0000000001", &[&log[..], b"0123abcd 2 "].concat());
    disk.put("snapshot.0000000002.tmp", b"half");
    let report = look(&disk, 2);
    assert_eq!(findings(&report), ["unfinished-file", "torn-tail", "new-boot"]);
    assert_eq!(
        report.to_string(),
        "4 facts in 1 groups of 1 log segments; 1 unfinished files were removed; \
         11 unacknowledged bytes were cut off; the machine rebooted, which ended 1 allocations"
    );
}

#[test]
fn a_state_that_was_lost_is_neither_fresh_nor_clean() {
    let found = |fresh| {
        let report = RecoveryReport { fresh, lost: true, ..RecoveryReport::default() };
        assert_eq!(findings(&report), ["lost"]);
        report.to_string()
    };
    assert_eq!(found(true), "the state was lost");
    assert_eq!(
        found(false),
        "0 facts in 0 groups of 0 log segments; facts that were acknowledged in this boot are missing, and nobody has confirmed the state"
    );
}

#[test]
fn all_that_may_be_found_is_said_at_once() {
    let report = RecoveryReport {
        snapshot: Some(4),
        damaged_snapshot: Some("snapshot.0000000005 is damaged".to_owned()),
        abandoned_segments: 1,
        unsynced_group: true,
        new_segment: true,
        ..RecoveryReport::default()
    };
    assert_eq!(findings(&report), ["damaged-snapshot", "abandoned-segment", "unsynced-group", "new-segment"]);
    assert_eq!(
        report.to_string(),
        "0 facts in 0 groups of 0 log segments on top of snapshot 4; \
         a newer snapshot was quarantined: snapshot.0000000005 is damaged; \
         1 segments without their snapshots were quarantined; a group was only in the page cache; \
         the snapshot is ahead of the log, so a new segment begins"
    );
}

/// Each is left behind by some failure that is interrupted at some operation.
#[test]
fn every_finding_has_its_failure() {
    let mut found = BTreeSet::new();
    for (seed, cut) in (0..20).flat_map(|seed| (0..30).map(move |cut| (seed, cut))) {
        let disk = SimDisk::new(seed);
        let mut node = Node::start_compacting(&disk, 2_000);
        drop((node.define(0), node.give(0, 1)));
        node.settle();
        disk.stop_after(cut);
        disk.set_faults(Faults { sync: 300, ..Faults::default() });
        for who in 2..6 {
            drop(node.give(0, who));
            node.writer.step(&node.memory);
        }
        disk.set_faults(Faults::default());
        if seed % 2 == 0 {
            disk.kill();
        } else {
            disk.crash();
        }
        found.extend(look(&disk, 1).findings());
    }
    for expected in
        ["clean", "abandoned-segment", "unfinished-file", "torn-tail", "unsynced-group", "new-segment"]
    {
        assert!(found.contains(expected), "no interruption leaves {expected}: {found:?}");
    }
}
