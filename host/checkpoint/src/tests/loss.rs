//! Losses of the simulated disk in a crash; without them, the tests that use it would prove nothing.

use std::collections::BTreeSet;

use crate::Disk;
use crate::sim::{Faults, SimDisk};

const SECTOR: usize = 512;

/// All outcomes of a crash after some work on a disk.
fn after_crashes<T: Ord>(work: impl Fn(&SimDisk), look: impl Fn(&SimDisk) -> T) -> BTreeSet<T> {
    let left = |seed| {
        let disk = SimDisk::new(seed);
        work(&disk);
        disk.crash();
        look(&disk)
    };
    (0..200).map(left).collect()
}

/// All outcomes of two independent operations; the later one alone shows reordering.
fn any_of_two() -> BTreeSet<(bool, bool)> {
    [(false, false), (true, false), (false, true), (true, true)].into()
}

#[test]
fn a_sector_that_was_not_synced_may_outlive_an_earlier_one_and_none_that_was_is_touched() {
    let left = after_crashes(
        |disk| {
            let mut file = disk.create("file").unwrap();
            file.append(&[b'a'; SECTOR]).unwrap();
            file.sync_data().unwrap();
            disk.sync_dir().unwrap();
            file.append(&[b'b'; SECTOR]).unwrap();
            file.append(&[b'c'; SECTOR]).unwrap();
        },
        |disk| disk.contents("file").unwrap(),
    );
    assert!(left.iter().all(|bytes| bytes.starts_with(&[b'a'; SECTOR])));
    let kept = |bytes: &Vec<u8>| (bytes.contains(&b'b'), bytes.contains(&b'c'));
    assert_eq!(left.iter().map(kept).collect::<BTreeSet<_>>(), any_of_two());
    assert!(left.iter().any(|bytes| bytes.len() % SECTOR != 0), "a write is never torn");
}

#[test]
fn a_file_that_was_not_synced_may_outlive_one_that_was_written_before() {
    let left = after_crashes(
        |disk| {
            let mut files = ["first", "second"].map(|name| disk.create(name).unwrap());
            disk.sync_dir().unwrap();
            for file in &mut files {
                file.append(b"written").unwrap();
            }
        },
        |disk| {
            let whole = |name| disk.contents(name).unwrap() == b"written";
            (whole("first"), whole("second"))
        },
    );
    assert_eq!(left, any_of_two());
}

/// A disk that refuses has done some of the work, and the kernel does not say which part; no later sync does the
/// rest.
#[test]
fn a_sync_that_fails_has_written_any_of_the_sectors() {
    let left = after_crashes(
        |disk| {
            let mut file = disk.create("file").unwrap();
            disk.sync_dir().unwrap();
            file.append(&[b'a'; SECTOR]).unwrap();
            file.append(&[b'b'; SECTOR]).unwrap();
            disk.set_faults(Faults { sync: 1000, ..Faults::default() });
            assert!(file.sync_data().is_err());
            disk.set_faults(Faults::default());
            file.sync_data().unwrap();
            assert_eq!(disk.contents("file").unwrap().len(), 2 * SECTOR, "readers still see it");
        },
        |disk| {
            let bytes = disk.contents("file").unwrap();
            (bytes.contains(&b'a'), bytes.contains(&b'b'))
        },
    );
    assert_eq!(left, any_of_two());
}

#[test]
fn names_are_lost_from_the_last_one_on() {
    let left = after_crashes(
        |disk| {
            disk.put("before", b"");
            disk.rename("before", "behind").unwrap();
            drop(disk.create("last").unwrap());
        },
        |disk| disk.list().unwrap(),
    );
    let names: [&[&str]; 3] = [&["before"], &["behind"], &["behind", "last"]];
    assert_eq!(left, names.map(|names| names.iter().map(ToString::to_string).collect()).into());
}
