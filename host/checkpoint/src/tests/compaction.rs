//! Compaction: when a snapshot is taken, which files stay with it, and what happens if it fails.

use super::fixture::{NOW, Node, answer, boot, everything, network};
use crate::sim::{Faults, SimDisk};
use crate::{Disk, recover};

const FIRST: &str = "log.0000000001";
const SECOND: &str = "snapshot.0000000002";

/// A node with one network that compacts from this length on.
fn defined(disk: &SimDisk, compact_above: u64) -> Node {
    let node = Node::start_compacting(disk, compact_above);
    drop(node.define(0));
    node
}

fn has(disk: &SimDisk, name: &str) -> bool {
    disk.list().unwrap().iter().any(|found| found == name)
}

/// The length of a log that defines one network.
fn length() -> u64 {
    let disk = SimDisk::new(0);
    defined(&disk, u64::MAX).settle();
    disk.contents(FIRST).unwrap().len() as u64
}

#[test]
fn a_segment_is_compacted_from_its_length_on_and_not_before() {
    for (above, compacted) in [(length(), true), (length() + 1, false)] {
        let disk = SimDisk::new(0);
        defined(&disk, above).settle();
        assert_eq!(has(&disk, SECOND), compacted);
    }
}

#[test]
fn a_snapshot_that_cannot_be_begun_is_tried_again_when_the_log_has_grown() {
    let disk = SimDisk::new(0);
    let mut node = defined(&disk, length());
    disk.set_faults(Faults { name: 1000, ..Faults::default() });
    node.settle();
    disk.set_faults(Faults::default());
    node.settle();
    assert!(!has(&disk, SECOND), "it was retried at once");
    for who in 0..10 {
        assert_eq!(
            has(&disk, SECOND),
            disk.contents(FIRST).is_none_or(|log| log.len() as u64 >= 2 * length())
        );
        drop(node.give(0, who));
        node.settle();
    }
    assert!(has(&disk, SECOND));
}

#[test]
fn compaction_keeps_one_generation_and_goes_on_under_load() {
    let disk = SimDisk::new(6);
    let mut node = Node::start_compacting(&disk, 20_000);
    for number in 0..3 {
        drop(node.define(number));
    }
    for round in 0..400 {
        let who = round % 20;
        drop(node.free(round % 3, who).or_else(|| node.give(round % 3, who)));
        node.writer.step(&node.memory);
    }
    node.settle();
    let names = disk.list().unwrap();
    let count = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count();
    assert_eq!((count("log."), count("snapshot.")), (2, 2), "{names:?}");
    let found = recover(&disk, &boot(1), NOW).unwrap();
    assert!(found.report.snapshot.is_some());
    assert_eq!(everything(&found), node.memory.everything());
}

/// A snapshot of several pieces is complete, also with groups between them.
#[test]
fn a_large_snapshot_is_taken_while_groups_are_written() {
    let disk = SimDisk::new(0);
    let mut node = Node::start_compacting(&disk, 1 << 20);
    drop(node.memory.define(&node.journal, &network(0, "10.0.0.0/8", "10.0.0.1", "10.0.15.255")));
    (0..4_000).for_each(|who| drop(node.give(0, who)));
    node.writer.step(&node.memory);
    let mut groups = 0;
    while !disk.list().unwrap().contains(&"snapshot.0000000002".to_owned()) {
        let ticket = node.free(0, groups).unwrap();
        node.writer.step(&node.memory);
        assert_eq!(answer(ticket), Some(Ok(())));
        groups += 1;
    }
    assert!(groups > 2, "{groups} groups were written meanwhile");
    let found = recover(&disk, &boot(1), NOW).unwrap();
    assert_eq!(found.report.snapshot, Some(2));
    assert_eq!(everything(&found), node.memory.everything());
}
