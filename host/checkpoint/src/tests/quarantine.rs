//! Quarantine: bytes that were cut off are never lost, and nothing is kept twice.

use super::fixture::{NOW, Node, boot};
use crate::recover;
use crate::sim::SimDisk;

const LOG: &str = "log.0000000001";

/// A disk with a log of one group.
fn with_log() -> (SimDisk, Vec<u8>) {
    let disk = SimDisk::new(0);
    let mut node = Node::start(&disk, 1);
    drop((node.define(0), node.give(0, 1)));
    node.settle();
    let log = disk.contents(LOG).unwrap();
    (disk, log)
}

/// Starts on a log with a torn end, and returns what is in quarantine afterwards.
fn torn(disk: &SimDisk, log: &[u8], tail: &[u8]) -> Vec<Vec<u8>> {
    disk.put(LOG, &[log, tail].concat());
    drop(recover(disk, &boot(1), NOW).unwrap());
    assert_eq!(disk.contents(LOG).unwrap(), log);
    kept(disk)
}

fn kept(disk: &SimDisk) -> Vec<Vec<u8>> {
    let names = crate::Disk::list(disk).unwrap();
    let aside = names.iter().filter(|name| name.starts_with("quarantine.") && !name.ends_with(".tmp"));
    aside.map(|name| disk.contents(name).unwrap()).collect()
}

#[test]
fn every_tail_that_is_cut_is_kept_and_the_same_one_only_once() {
    let (disk, log) = with_log();
    let (first, second) = (b"0123abcd 3 ".to_vec(), b"4567abcd 3 1".to_vec());
    assert_eq!(torn(&disk, &log, &first), std::slice::from_ref(&first));
    // A start that was killed before it cut the tail cuts it again.
    assert_eq!(torn(&disk, &log, &first), std::slice::from_ref(&first));
    for _ in 0..2 {
        assert_eq!(torn(&disk, &log, &second), [first.clone(), second.clone()]);
    }
}

#[test]
fn a_copy_cut_short_at_any_operation_is_made_again() {
    let tail = vec![b'x'; 3_000];
    let tail = [b"0123abcd 3 3001 ", &tail[..]].concat();
    for cut in 0..12 {
        let (disk, log) = with_log();
        disk.put(LOG, &[&log[..], &tail[..]].concat());
        disk.stop_after(cut);
        drop(recover(&disk, &boot(1), NOW));
        disk.crash();
        drop(recover(&disk, &boot(1), NOW).unwrap());
        assert_eq!(kept(&disk), std::slice::from_ref(&tail), "cut at {cut}");
        assert_eq!(disk.contents(LOG).unwrap(), log, "cut at {cut}");
    }
}

#[test]
fn a_tail_is_cut_though_a_full_disk_takes_no_copy() {
    let (disk, log) = with_log();
    disk.put(LOG, &[&log[..], b"0123abcd 3 "].concat());
    disk.set_capacity(Some(disk.used()));
    drop(recover(&disk, &boot(1), NOW).unwrap());
    assert_eq!(disk.contents(LOG).unwrap(), log);
    assert!(kept(&disk).is_empty());
}

#[test]
fn a_stop_keeps_one_copy_however_often_it_is_tried() {
    let (disk, log) = with_log();
    let mut damaged = log;
    let last = damaged.len() - 2;
    damaged[last] ^= 1;
    disk.put(LOG, &damaged);
    for _ in 0..3 {
        assert!(recover(&disk, &boot(1), NOW).is_err());
        assert_eq!(kept(&disk), [damaged.clone()]);
    }
}
