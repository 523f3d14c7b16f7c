//! Following the log from another process.

use std::sync::Arc;

use super::fixture::{Node, options};
use crate::sim::SimDisk;
use crate::{Disk, LogItem, LogReader};

#[test]
fn a_reader_follows_over_groups_segments_and_unfinished_lines() {
    let disk = SimDisk::new(9);
    let mut options = options(&disk, 1);
    options.compact_above = 4_000;
    let mut node = Node::start_with(&disk, options);
    let mut reader = LogReader::new(Arc::new(disk.clone()));
    let (mut places, mut segments) = (Vec::new(), 0);
    drop(node.define(0));
    for round in 0..40 {
        drop(node.free(0, 1).or_else(|| node.give(0, 1)));
        node.writer.step(&node.memory);
        while let Some(item) = reader.next_item().unwrap() {
            match item {
                LogItem::Segment(_) => segments += 1,
                LogItem::Record { place, .. } => places.push(place),
            }
        }
        assert_eq!(places.last(), Some(&(round + 2)));
    }
    assert_eq!(places, (1..=41).collect::<Vec<_>>());
    assert!(segments > 1);
    // Half a line is not an error: the rest may be on its way.
    let mut tail =
        disk.open(&disk.list().unwrap().into_iter().rfind(|name| name.starts_with("log.")).unwrap()).unwrap();
    tail.append(b"0123abcd 42 5").unwrap();
    assert_eq!(reader.next_item().unwrap(), None);
}

#[test]
fn a_reader_goes_on_behind_what_compaction_has_removed() {
    let disk = SimDisk::new(0);
    let mut options = options(&disk, 1);
    options.compact_above = 1_500;
    let mut node = Node::start_with(&disk, options);
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
        if let LogItem::Record { place, .. } = item {
            last = place;
        }
    }
    assert_eq!(last, 41);
}
