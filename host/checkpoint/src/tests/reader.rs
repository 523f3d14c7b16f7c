//! Reads the log and the state from another process, while the daemon writes.

use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use super::fixture::{NOW, Node, boot, everything};
use crate::sim::SimDisk;
use crate::{Disk, File, LogItem, LogReader, recover_read_only};

#[test]
fn a_reader_follows_over_groups_segments_and_unfinished_lines() {
    let disk = SimDisk::new(9);
    let mut node = Node::start_compacting(&disk, 4_000);
    let mut reader = LogReader::new(Arc::new(disk.clone()));
    let (mut places, mut segments) = (Vec::new(), 0);
    drop(node.define(0));
    for round in 0..40 {
        drop(node.free(0, 1).or_else(|| node.give(0, 1)));
        node.writer.step(&node.memory);
        while let Some(item) = reader.next_item().unwrap() {
            match item {
                LogItem::Segment(_) => segments += 1,
                LogItem::Fact { place, .. } => places.push(place),
            }
        }
        assert_eq!(places.last(), Some(&(round + 4)));
    }
    assert_eq!(places, (1..=43).collect::<Vec<_>>());
    assert!(segments > 1);
    // Half a line is not an error: the rest may still be coming.
    let mut tail =
        disk.open(&disk.list().unwrap().into_iter().rfind(|name| name.starts_with("log.")).unwrap()).unwrap();
    tail.append(b"0123abcd 42 5").unwrap();
    assert_eq!(reader.next_item().unwrap(), None);
}

#[test]
fn a_reader_goes_on_behind_what_compaction_has_removed() {
    let disk = SimDisk::new(0);
    let mut node = Node::start_compacting(&disk, 1_500);
    let mut reader = LogReader::new(Arc::new(disk.clone()));
    drop(node.define(0));
    node.writer.step(&node.memory);
    while reader.next_item().unwrap().is_some() {}
    for _ in 0..40 {
        drop(node.free(0, 1).or_else(|| node.give(0, 1)));
        node.settle();
    }
    assert!(!disk.list().unwrap().contains(&"log.0000000001".to_owned()));
    let mut last = 0;
    while let Some(item) = reader.next_item().unwrap() {
        if let LogItem::Fact { place, .. } = item {
            last = place;
        }
    }
    assert_eq!(last, 43);
}

/// A read-only disk whose listings are stale for a while.
struct Overtaken {
    disk: SimDisk,
    listings: Mutex<Vec<Vec<String>>>,
}

impl Disk for Overtaken {
    fn list(&self) -> io::Result<Vec<String>> {
        self.listings.lock().unwrap().pop().map_or_else(|| self.disk.list(), Ok)
    }

    fn read(&self, name: &str, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        self.disk.read(name, offset)
    }

    fn create(&self, _: &str) -> io::Result<Box<dyn File>> {
        unreachable!("it is only read")
    }

    fn open(&self, _: &str) -> io::Result<Box<dyn File>> {
        unreachable!("it is only read")
    }

    fn sync_and_forget(&self, _: &str) -> io::Result<()> {
        unreachable!("it is only read")
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        unreachable!("it is only read")
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        unreachable!("it is only read")
    }

    fn sync_dir(&self) -> io::Result<()> {
        unreachable!("it is only read")
    }
}

#[test]
fn a_compaction_that_overtakes_a_look_is_looked_at_again() {
    let disk = SimDisk::new(0);
    let mut node = Node::start_compacting(&disk, 1_500);
    drop(node.define(0));
    node.settle();
    let old = disk.list().unwrap();
    for who in 0..40 {
        drop(node.give(0, who));
        node.settle();
    }
    let look = |times| {
        let disk = Overtaken { disk: disk.clone(), listings: Mutex::new(vec![old.clone(); times]) };
        recover_read_only(&disk, &boot(1), NOW)
    };
    for times in 0..=3 {
        assert_eq!(everything(&look(times).unwrap()), node.memory.everything());
    }
    assert!(look(4).is_err(), "a file that stays missing is reported");
}
