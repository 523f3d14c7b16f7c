//! The witness outside the state directory: its record, and how a start uses it.

use std::sync::Arc;

use super::fixture::{NOW, Node, answer, boot, options};
use crate::sim::{Faults, Mark, SimDisk};
use crate::{Disk, Durable, FileDisk, Options, Result, Witness, recover_after};

const LOG: &str = "log.0000000001";

fn heard(disk: &SimDisk, compact_above: u64) -> (Node, Arc<Mark>) {
    let ear = Arc::new(Mark::default());
    let witness = Some(Arc::clone(&ear) as Arc<dyn Witness>);
    (Node::start_with(disk, Options { witness, compact_above, ..options(disk, 1) }), ear)
}

fn is_lost(disk: &SimDisk, last: Option<Durable>) -> Result<bool> {
    recover_after(disk, &boot(1), NOW, last.as_ref()).map(|recovered| recovered.report.lost)
}

/// All files of a disk, on another one.
fn copy(disk: &SimDisk) -> SimDisk {
    let copy = SimDisk::new(7);
    for name in disk.list().unwrap() {
        copy.put(&name, &disk.contents(&name).unwrap());
    }
    copy
}

#[test]
fn everybody_is_answered_after_the_witness() {
    let disk = SimDisk::new(0);
    let (mut node, ear) = heard(&disk, u64::MAX);
    assert_eq!(ear.last().unwrap().fact, 0);
    drop(node.define(0));
    let ticket = node.give(0, 1).unwrap();
    node.settle();
    assert_eq!(answer(ticket), Some(Ok(())));
    let told = ear.last().unwrap();
    assert_eq!((told.fact, told.log, told.length), (4, 1, disk.contents(LOG).unwrap().len() as u64));

    disk.set_faults(Faults { sync: 1000, ..Faults::default() });
    let ticket = node.give(0, 2).unwrap();
    node.writer.step(&node.memory);
    assert!(answer(ticket).unwrap().is_err());
    assert_eq!(ear.last(), Some(told), "what is not durable is not reported");
    disk.set_faults(Faults::default());
    node.settle();
    assert!(ear.last().unwrap().log > told.log, "the log was reopened from memory");
}

#[test]
fn a_start_reports_what_it_found() {
    let disk = SimDisk::new(0);
    let (mut node, ear) = heard(&disk, u64::MAX);
    drop((node.define(0), node.give(0, 1)));
    node.settle();
    drop(node);
    let (_, again) = heard(&disk, u64::MAX);
    assert!(ear.last().unwrap().group > 0);
    assert_eq!(again.last(), ear.last());
}

#[test]
fn what_was_durable_is_looked_for_in_its_own_segment() {
    let told = Durable { fact: 7, log: 1, length: 30, group: 10, checksum: 0 };
    let directory = tempfile::tempdir().unwrap();
    let disk = FileDisk::create(directory.path()).unwrap();
    assert!(!told.is_in(&disk, 2, 0).unwrap(), "the segment is not there");
    std::os::unix::fs::symlink(LOG, directory.path().join(LOG)).unwrap();
    assert!(told.is_in(&disk, 2, 0).is_err(), "nobody knows what is in it");
}

/// Kills a node at any operation: a start has everything that was reported to the witness, last and
/// before.
#[test]
fn what_was_told_is_there_whenever_the_node_is_killed() {
    for (seed, cut) in (0..4).flat_map(|seed| (0..60).map(move |cut| (seed, cut))) {
        let disk = SimDisk::new(seed);
        let (mut node, ear) = heard(&disk, 3_000);
        drop(node.define(0));
        node.settle();
        disk.stop_after(cut);
        let mut before = Vec::new();
        for who in 0..12 {
            if who == 6 {
                disk.set_faults(Faults { sync: 500, ..Faults::default() });
            }
            drop(node.give(0, who));
            node.writer.step(&node.memory);
            before.push(ear.last());
        }
        disk.set_faults(Faults::default());
        if seed % 2 == 0 {
            disk.kill();
        } else {
            disk.crash();
        }
        // A witness that was killed before it recorded the last end still has the one before.
        let kept = before.iter().rev().find(|told| **told != ear.last()).copied().flatten();
        for told in [ear.last(), kept] {
            assert!(!is_lost(&copy(&disk), told).unwrap(), "seed {seed}, cut at {cut}: {told:?}");
        }
    }
}

#[test]
fn an_older_an_empty_and_another_state_are_lost() {
    let disk = SimDisk::new(0);
    let (mut node, ear) = heard(&disk, u64::MAX);
    drop((node.define(0), node.give(0, 1)));
    node.settle();
    let older = copy(&disk);
    drop(node.give(0, 2));
    node.settle();
    let told = ear.last();
    assert!(!is_lost(&copy(&disk), told).unwrap());
    assert!(!is_lost(&copy(&disk), None).unwrap());
    assert!(is_lost(&older, told).unwrap());
    assert!(is_lost(&SimDisk::new(0), told).unwrap());

    // The same up to that point, and different but of the same length after it.
    let (mut other, _) = heard(&older, u64::MAX);
    drop(other.give(0, 3));
    other.settle();
    assert_eq!(older.contents(LOG).unwrap().len(), disk.contents(LOG).unwrap().len());
    assert!(is_lost(&older, told).unwrap());
    // Being longer does not make it better.
    drop(other.give(0, 4));
    other.settle();
    assert!(is_lost(&older, told).unwrap());
}

#[test]
fn nothing_is_lost_before_the_first_fact() {
    let disk = SimDisk::new(0);
    let (_, ear) = heard(&disk, u64::MAX);
    assert!(!is_lost(&SimDisk::new(0), ear.last()).unwrap());
}

#[test]
fn a_tail_that_was_durable_is_cut_only_with_a_copy() {
    let disk = SimDisk::new(0);
    let (mut node, ear) = heard(&disk, u64::MAX);
    drop(node.define(0));
    node.settle();
    let before = disk.contents(LOG).unwrap().len();
    drop(node.give(0, 1));
    node.settle();
    let whole = disk.contents(LOG).unwrap();
    for missing in [1, 100] {
        let torn = copy(&disk);
        torn.put(LOG, &whole[..whole.len() - missing]);
        torn.set_capacity(Some(torn.used()));
        assert!(is_lost(&torn, ear.last()).is_err(), "no room for a copy");
        assert_eq!(torn.contents(LOG).unwrap(), whole[..whole.len() - missing]);
        torn.set_capacity(None);
        for _ in 0..2 {
            assert!(is_lost(&torn, ear.last()).unwrap());
            let kept = torn.contents(&format!("quarantine.{LOG}.{before}")).unwrap();
            assert_eq!(kept, whole[before..whole.len() - missing]);
        }
    }
}
