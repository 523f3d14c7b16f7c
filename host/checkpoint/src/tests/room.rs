//! Room: what is reserved ahead, and what is released.

use super::fixture::{Node, options};
use crate::Disk;
use crate::sim::SimDisk;

fn length(disk: &SimDisk, name: &str) -> usize {
    disk.contents(name).unwrap().len()
}

#[test]
fn room_is_reserved_anew_when_half_of_it_is_used() {
    const RESERVE: usize = 16 << 10;
    const LOG: &str = "log.0000000001";
    let disk = SimDisk::new(0);
    let mut node = Node::start(&disk, 1);
    drop(node.define(0));
    // The room in use is what is written and what is reserved behind it.
    let mut reserved = RESERVE + length(&disk, LOG);
    assert_eq!(disk.used(), reserved as u64);
    for who in 0..200 {
        drop(node.give(0, who));
        node.settle();
        if reserved < length(&disk, LOG) + RESERVE / 2 {
            reserved = length(&disk, LOG) + RESERVE;
        }
        assert_eq!(disk.used(), reserved as u64);
    }
}

#[test]
fn room_that_is_there_is_not_asked_for_again() {
    let disk = SimDisk::new(0);
    let mut node = Node::start(&disk, 1);
    drop(node.define(0));
    let before = disk.operations();
    node.settle();
    assert_eq!(disk.operations() - before, 2, "an append and a sync");
}

#[test]
fn what_a_sealed_segment_has_reserved_is_given_back() {
    let disk = SimDisk::new(0);
    let mut options = options(&disk, 1);
    options.compact_above = 1;
    let reserve = options.reserve;
    let mut node = Node::start_with(&disk, options);
    drop(node.define(0));
    node.settle();
    let written: usize = disk.list().unwrap().iter().map(|name| length(&disk, name)).sum();
    assert_eq!(disk.list().unwrap().len(), 3, "two segments and a snapshot");
    assert_eq!(disk.used(), written as u64 + reserve);
}

#[test]
fn a_snapshot_that_does_not_fit_is_given_up_and_leaves_nothing_behind() {
    let disk = SimDisk::new(0);
    let mut options = options(&disk, 1);
    (options.reserve, options.compact_above) = (0, 5_000);
    let mut node = Node::start_with(&disk, options);
    drop(node.define(0));
    for who in 0..20 {
        drop(node.give(0, who));
    }
    // The group and the next segment's header fit, but the snapshot does not.
    disk.set_capacity(Some(20_000));
    node.settle();
    assert_eq!(disk.list().unwrap(), ["log.0000000001", "log.0000000002"]);
    disk.set_capacity(None);
    for who in 20..60 {
        drop(node.give(0, who));
        node.settle();
    }
    assert!(disk.list().unwrap().contains(&"snapshot.0000000003".to_owned()), "it is retried later");
}
