//! Recovery from snapshots that a thread of their own has taken.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_engine::ports::Images;

use super::running::{ABOVE, Running, durable};
use crate::sim::{Mark, SimDisk};
use crate::tests::fixture::{Memory, NOW, boot, everything, options, owner, plain};
use crate::{Disk, FileDisk, Options, Writer, recover, recover_after};

/// On the real disk, one snapshot after the other, with the pieces and the rests of a real one.
#[test]
fn snapshots_are_taken_beside_groups_and_read_by_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(FileDisk::create(directory.path()).unwrap());
    let recovered = recover(disk.as_ref(), &boot(1), NOW).unwrap();
    let options = options(&SimDisk::new(0), 1);
    let (writer, journal) = Writer::open(
        Options { disk: Arc::clone(&disk) as _, compact_above: ABOVE, ..options },
        &recovered.tail,
    );
    let memory = Memory::of(recovered);
    let running = writer.run(Arc::new(memory.clone()) as Arc<dyn Images>).unwrap();
    durable(memory.define(&journal, &plain(0))).unwrap();
    let is_third = |name: &String| name == "snapshot.0000000003";
    let mut groups = 0;
    while !disk.list().unwrap().iter().any(is_third) {
        durable(memory.give(&journal, 0, &owner(groups)).unwrap()).unwrap();
        groups += 1;
    }
    drop(running);
    let found = recover(disk.as_ref(), &boot(1), NOW).unwrap();
    assert!(found.report.snapshot >= Some(3), "{:?}", found.report.snapshot);
    assert_eq!(everything(&found), memory.everything());
}

#[test]
fn whatever_both_threads_do_when_the_machine_stops_is_recovered_from() {
    let mut snapshots = BTreeSet::new();
    for seed in 0..100 {
        let (disk, mark) = (SimDisk::new(seed), Arc::new(Mark::default()));
        let options =
            Options { witness: Some(Arc::clone(&mark) as _), compact_above: ABOVE, ..options(&disk, 1) };
        let mut running = Running::start_on(disk.clone(), options, |memory| Arc::new(memory.clone()));
        disk.stop_after(seed * 3);
        let mut acknowledged = running.memory.everything();
        while running.toggle(seed % 16).is_ok() {
            acknowledged = running.memory.everything();
        }
        drop(running.thread);
        disk.crash();
        let found = recover_after(&disk, &boot(1), NOW, mark.last().as_ref()).unwrap();
        assert!(!found.report.lost, "seed {seed}");
        snapshots.insert(found.report.snapshot);
        let found = everything(&found);
        assert!(found == acknowledged || found == running.memory.everything(), "seed {seed}");
    }
    assert!(snapshots.len() > 1, "{snapshots:?}");
}
