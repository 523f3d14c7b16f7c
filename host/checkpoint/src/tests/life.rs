//! Tickets, health and files after a full disk, a failed sync, a reboot, another version.

use std::sync::{Arc, Mutex, OnceLock};

use tenure_engine::ports::{Journal, Ticket};
use tenure_fixtures::ports::OnSync;
use tenure_ledger::LedgerFact;
use tenure_types::{Allocation, ErrorCode};

use super::fixture::{Everything, NOW, Node, answer, boot, everything, log_header, name, options, owner};
use crate::sim::{Faults, SimDisk};
use crate::{Base, CheckpointJournal, Disk, Error, WriterProgress, recover, recover_read_only};

#[test]
fn a_group_is_one_sync_and_nothing_is_answered_before_it() {
    let disk = SimDisk::new(1);
    let mut node = Node::start(&disk, 1);
    let define = node.define(0);
    let given = node.give(0, 1).unwrap();
    let barrier = node.journal.barrier();
    let before = disk.operations();
    assert_eq!(node.writer.step(&node.memory), WriterProgress::Worked);
    // One append, one sync, and the reserved room.
    assert!(disk.operations() - before <= 3);
    for ticket in [define, given, barrier] {
        assert_eq!(answer(ticket), Some(Ok(())));
    }
    assert_eq!(answer(node.give(0, 2).unwrap()), None, "answered before its step");
    assert_eq!(answer(node.journal.barrier()), None, "a barrier overtook a fact");
    node.settle();
    assert_eq!(answer(node.journal.barrier()), Some(Ok(())));
}

/// The syncs that an observer was notified of, and the barriers that it requested during a group.
#[derive(Default)]
struct Ears {
    journal: OnceLock<CheckpointJournal>,
    heard: Mutex<Vec<Result<usize, ErrorCode>>>,
    barriers: Mutex<Vec<Ticket>>,
}

#[test]
fn each_sync_is_heard_of_and_a_barrier_is_none() {
    let disk = SimDisk::new(0);
    let ears = Arc::new(Ears::default());
    let mut options = options(&disk, 1);
    let hears = Arc::clone(&ears);
    options.observer = Arc::new(OnSync(move |written| {
        hears.heard.lock().unwrap().push(written);
        hears.barriers.lock().unwrap().push(hears.journal.get().unwrap().barrier());
    }));
    let mut node = Node::start_with(&disk, options);
    assert!(ears.journal.set(node.journal.clone()).is_ok());
    drop((node.define(0), node.give(0, 1)));
    node.writer.step(&node.memory);
    let barrier = ears.barriers.lock().unwrap().pop().unwrap();
    node.writer.step(&node.memory);
    assert_eq!(answer(barrier), Some(Ok(())));
    disk.set_faults(Faults { sync: 1000, ..Faults::default() });
    drop(node.give(0, 2));
    node.writer.step(&node.memory);
    assert_eq!(*ears.heard.lock().unwrap(), [Ok(4), Err(ErrorCode::CheckpointFailed)]);
}

#[test]
fn a_failed_sync_fails_its_group_and_is_reopened_from_memory() {
    let disk = SimDisk::new(2);
    let mut node = Node::start(&disk, 1);
    drop(node.define(0));
    node.settle();
    let ticket = node.give(0, 1).unwrap();
    disk.set_faults(Faults { sync: 1000, ..Faults::default() });
    node.writer.step(&node.memory);
    assert_eq!(answer(ticket).unwrap().unwrap_err().code, ErrorCode::CheckpointFailed);
    assert_eq!(node.journal.health().unwrap_err().code, ErrorCode::CheckpointFailed);
    assert!(answer(node.journal.barrier()).unwrap().is_err(), "memory is ahead of the disk");
    // Until it is reopened, what is staged fails instead of waiting.
    let ticket = node.free(0, 1).unwrap();
    node.writer.step(&node.memory);
    assert!(answer(ticket).unwrap().is_err());

    disk.set_faults(Faults::default());
    let ticket = node.give(0, 2).unwrap();
    node.settle();
    assert_eq!(answer(ticket), Some(Ok(())));
    assert_eq!(node.journal.health(), Ok(()));
    disk.crash();
    let found = recover(&disk, &boot(1), NOW).unwrap();
    assert_eq!(everything(&found), node.memory.everything());
}

/// The group can be read from the page cache, but is not on the disk.
#[test]
fn a_process_killed_after_a_failed_sync_leaves_no_hole_before_what_comes_later() {
    for (seed, cut) in (0..20).flat_map(|seed| (0..24).map(move |cut| (seed, cut))) {
        let disk = SimDisk::new(seed);
        let mut node = Node::start(&disk, 1);
        drop((node.define(0), node.give(0, 1)));
        node.settle();
        disk.set_faults(Faults { sync: 500, ..Faults::default() });
        drop((node.give(0, 2), node.give(0, 3)));
        disk.stop_after(cut);
        node.settle();
        disk.set_faults(Faults::default());
        disk.kill();

        // The start may be killed in turn.
        disk.stop_after(cut % 5);
        drop(recover(&disk, &boot(1), NOW).map(|recovered| Node::from(options(&disk, 1), recovered)));
        disk.kill();
        let mut node = Node::start(&disk, 1);
        for who in 4..9 {
            let ticket = node.give(0, who).unwrap();
            node.settle();
            assert_eq!(answer(ticket), Some(Ok(())));
        }
        disk.crash();
        let found = recover(&disk, &boot(1), NOW)
            .unwrap_or_else(|error| panic!("seed {seed}, cut at {cut}: {error}"));
        assert_eq!(everything(&found), node.memory.everything(), "seed {seed}, cut at {cut}");
    }
}

/// Facts that were staged while the log was being reopened are already in the snapshot, and their place must not be reused.
#[test]
fn a_reopening_cut_short_at_any_operation_loses_nothing_before_or_after() {
    for (seed, cut) in (0..20).flat_map(|seed| (0..16).map(move |cut| (seed, cut))) {
        let disk = SimDisk::new(seed);
        let mut node = Node::start(&disk, 1);
        drop(node.define(0));
        drop(node.give(0, 1));
        node.settle();
        disk.set_faults(Faults { sync: 1000, ..Faults::default() });
        drop(node.give(0, 2));
        node.writer.step(&node.memory);
        disk.set_faults(Faults::default());
        drop((node.give(0, 3), node.give(0, 4)));
        disk.stop_after(cut);
        node.writer.step(&node.memory);
        disk.crash();

        let mut node = Node::start(&disk, 1);
        assert!(node.memory.address_of(0, &owner(1)).is_some(), "seed {seed}, cut at {cut}");
        for who in 5..9 {
            let ticket = node.give(0, who).unwrap();
            node.settle();
            assert_eq!(answer(ticket), Some(Ok(())));
        }
        disk.crash();
        let found = recover(&disk, &boot(1), NOW).unwrap();
        assert_eq!(everything(&found), node.memory.everything(), "seed {seed}, cut at {cut}");
    }
}

#[test]
fn a_mending_cut_short_at_any_operation_is_ended_by_the_next_start() {
    let disk = SimDisk::new(0);
    let mut node = Node::start(&disk, 1);
    drop(node.define(0));
    node.settle();
    let log = disk.contents("log.0000000001").unwrap();
    let nothing_since = |number| log_header(number, 9, Base::Snapshot);
    for (seed, cut) in (0..20).flat_map(|seed| (0..16).map(move |cut| (seed, cut))) {
        let disk = SimDisk::new(seed);
        disk.put("log.0000000001", &[&log[..], b"0123abcd 2 "].concat());
        disk.put("log.0000000002", &nothing_since(2));
        disk.put("log.0000000003", &nothing_since(3));
        disk.put("snapshot.0000000003.tmp", b"half");
        disk.stop_after(cut);
        // Whether the first start succeeds depends on the cut.
        drop(recover(&disk, &boot(1), NOW));
        disk.crash();
        let found = recover(&disk, &boot(1), NOW)
            .unwrap_or_else(|error| panic!("seed {seed}, cut at {cut}: {error}"));
        assert_eq!(everything(&found), node.memory.everything());
        assert_eq!(disk.contents("log.0000000001"), Some(log.clone()));
    }
}

#[test]
fn a_full_disk_refuses_allocations_still_takes_releases_and_recovers_by_itself() {
    let disk = SimDisk::new(3);
    let mut node = Node::start(&disk, 1);
    drop(node.define(0));
    let owners = 0..20;
    for who in owners.clone() {
        drop(node.give(0, who));
    }
    node.settle();
    disk.set_capacity(Some(disk.used()));
    assert_eq!(node.journal.health(), Ok(()), "there is room for now");
    while node.journal.health().is_ok() {
        drop(node.give(0, 100).or_else(|| node.free(0, 100)));
        node.settle();
    }
    assert_eq!(node.journal.health().unwrap_err().code, ErrorCode::DiskFull);
    for who in owners {
        let ticket = node.free(0, who).unwrap();
        node.settle();
        assert_eq!(answer(ticket), Some(Ok(())), "the release of {who}");
    }
    assert_eq!(node.journal.health().unwrap_err().code, ErrorCode::DiskFull);

    // A daemon that starts on a full disk still serves releases.
    drop(node.free(0, 100));
    let mut node = Node::start(&disk, 1);
    assert_eq!(node.journal.health().unwrap_err().code, ErrorCode::DiskFull);

    disk.set_capacity(None);
    node.settle();
    assert_eq!(node.journal.health(), Ok(()));
    let ticket = node.give(0, 1).unwrap();
    node.settle();
    assert_eq!(answer(ticket), Some(Ok(())));
}

#[test]
fn a_disk_that_is_full_to_the_last_byte_fails_the_group_and_loses_nothing() {
    let disk = SimDisk::new(4);
    let mut options = options(&disk, 1);
    options.reserve = 0;
    let mut node = Node::start_with(&disk, options);
    drop(node.define(0));
    drop(node.give(0, 1));
    node.settle();
    let acknowledged = node.memory.everything();
    disk.set_capacity(Some(disk.used() + 100));
    let ticket = node.give(0, 2).unwrap();
    node.settle();
    assert_eq!(answer(ticket).unwrap().unwrap_err().code, ErrorCode::DiskFull);
    let found = recover_read_only(&disk, &boot(1), NOW).unwrap();
    assert_eq!(everything(&found), acknowledged, "the failed group was cut off again");

    disk.set_capacity(None);
    node.settle();
    assert_eq!(node.journal.health(), Ok(()));
    let found = recover_read_only(&disk, &boot(1), NOW).unwrap();
    assert_eq!(everything(&found), node.memory.everything());
}

#[test]
fn a_reboot_ends_allocations_and_restarts_cooling() {
    let disk = SimDisk::new(5);
    let mut node = Node::start(&disk, 1);
    drop(node.define(0));
    drop((node.give(0, 1), node.give(0, 2), node.give(0, 3)));
    drop(node.free(0, 2));
    node.settle();
    let addresses = [2, 1, 3].map(|who| node.memory.address_of(0, &owner(who)));
    let cooled = node.memory.images()[&name(0)].cooling[0].0;

    let later = tenure_types::Moment { boot_ns: 7, wall_ms: NOW.wall_ms + 60_000 };
    let found = recover(&disk, &boot(2), later).unwrap();
    assert_eq!(found.report.ended_by_reboot, 2);
    let image = found.state.books[0].image();
    assert!(image.allocations.is_empty());
    let expected: Vec<_> = [cooled, addresses[1].unwrap(), addresses[2].unwrap()]
        .into_iter()
        .map(|address| (address, later))
        .collect();
    assert_eq!(image.cooling, expected);

    // The new boot's own allocations survive a restart, and the third boot ends only those.
    let mut node = Node::from(options(&disk, 2), found);
    drop(node.give(0, 4));
    node.settle();
    assert_eq!(everything(&recover(&disk, &boot(2), NOW).unwrap()), {
        let Everything { mut books, node } = node.memory.everything();
        // Cooling restarted when this boot's segment began.
        books.values_mut().flat_map(|image| &mut image.cooling).for_each(|(_, since)| *since = NOW);
        Everything { books, node }
    });
    assert_eq!(recover(&disk, &boot(3), NOW).unwrap().report.ended_by_reboot, 1);
}

#[test]
fn a_start_goes_on_in_the_segment_that_it_finds_and_another_boot_begins_its_own() {
    let disk = SimDisk::new(0);
    for (start, boot, logs) in [(1, 1, 1), (2, 1, 1), (3, 2, 2), (4, 2, 2)] {
        let mut node = Node::start(&disk, boot);
        drop(node.define(start));
        node.settle();
        assert_eq!(disk.list().unwrap().len(), logs, "start {start}");
    }
}

#[test]
fn what_allocations_have_in_common_is_kept_once() {
    let disk = SimDisk::new(0);
    let mut node = Node::start(&disk, 1);
    drop((node.define(0), node.give(0, 1), node.give(0, 2)));
    node.settle();
    let found = recover(&disk, &boot(1), NOW).unwrap();
    let held: Vec<_> = found.state.books[0].allocations().collect();
    let [first, second] = held[..] else { panic!("{held:?}") };
    assert!(Arc::ptr_eq(&first.policy, &second.policy));
    assert!(Arc::ptr_eq(&first.addresses[0].source, &second.addresses[0].source));
    let text = |text: &str| text.as_ptr();
    assert_eq!(text(first.network.as_str()), text(second.network.as_str()));
    let interface = |held: &Allocation| text(held.owner.attachment().unwrap().1.as_str());
    assert_eq!(interface(first), interface(second));
}

#[test]
fn another_format_version_is_refused_by_name() {
    for (file, kind) in [("log.0000000001", "log"), ("snapshot.0000000001", "snapshot")] {
        let disk = SimDisk::new(7);
        let mut line = Vec::new();
        crate::frame::encode(
            &mut line,
            0,
            format!("{{\"{kind}\":{{\"version\":3,\"moon\":\"full\"}}}}").as_bytes(),
        );
        disk.put("log.0000000001", &line);
        disk.put(file, &line);
        let Err(error) = recover(&disk, &boot(1), NOW) else { panic!("it was read") };
        assert!(matches!(error, Error::UnknownVersion { found: 3, known: 2, .. }), "{error}");
        assert_eq!(disk.list().unwrap().len(), if kind == "log" { 1 } else { 2 }, "nothing is changed");
    }
}

#[test]
fn a_fact_that_contradicts_the_book_stops() {
    let disk = SimDisk::new(8);
    let mut node = Node::start(&disk, 1);
    drop(node.define(0));
    let fact = LedgerFact::Released {
        network: name(0),
        generation: tenure_types::Generation(7),
        at: NOW,
        reason: "del".into(),
    };
    drop(node.journal.stage(&[fact.into()]));
    node.settle();
    let Err(error) = recover(&disk, &boot(1), NOW) else { panic!("it was accepted") };
    assert!(matches!(error, Error::Contradiction { place: 4, .. }), "{error}");
}
