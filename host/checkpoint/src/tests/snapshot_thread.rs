//! The thread that takes a snapshot holds up no group, even while it waits for the disk, and no end of it is lost.

mod recovered;
mod running;
mod watched;

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::Poll;
use std::time::Duration;

use tenure_engine::ports::Journal;
use tenure_fixtures::ports::{ManualClock, Meddled, images};
use tenure_types::ErrorCode;

use self::running::{ABOVE, Running, at_once, durable};
use self::watched::{Event, Held, LIMIT, Watch, WatchedDisk};
use super::fixture::{NOW, answer, options};
use crate::sim::SimDisk;
use crate::{Disk, Options};

const SECOND: &str = "snapshot.0000000002";
const SECOND_UNFINISHED: &str = "snapshot.0000000002.tmp";
const THIRD: &str = "snapshot.0000000003";

/// The renaming of an unfinished snapshot.
fn publishing(file: &'static str) -> Event {
    Event { operation: "rename", file, nth: 1 }
}

/// A node whose snapshot hangs in the sync of its first piece.
fn hanging() -> (Held, Running) {
    let mut watch = Watch::default();
    let piece = watch.hold(Event { operation: "sync", file: SECOND_UNFINISHED, nth: 1 });
    let running = Running::start(at_once(), watch);
    piece.reached.recv_timeout(LIMIT).unwrap();
    (piece, running)
}

#[test]
fn a_snapshot_that_hangs_at_any_operation_holds_up_no_group() {
    for (operation, file, nth) in [
        ("create", "snapshot.", 1),
        ("append", "snapshot.", 1),
        ("sync", "snapshot.", 1),
        ("sync", "snapshot.", 2),
        ("rename", "snapshot.", 1),
        ("sync directory", "snapshot", 1),
        ("remove", "log.", 1),
    ] {
        let (mut watch, event) = (Watch::default(), Event { operation, file, nth });
        let held = watch.hold(event);
        let mut running = Running::start(ABOVE, watch);
        running.write_until(&held.reached);
        (0..20).for_each(|who| running.toggle(who).unwrap());
        held.go_on();
        running.stop();
    }
}

#[test]
fn a_thread_ends_a_snapshot_that_it_has_begun_though_nothing_more_comes() {
    let mut watch = Watch::default();
    let published = watch.hear(publishing(SECOND));
    let running = Running::start(at_once(), watch);
    published.recv_timeout(LIMIT).unwrap();
    running.stop();
}

/// The parts may contain what no crash would leave in the log.
#[test]
fn a_snapshot_is_not_ended_before_the_log_has_what_is_in_it() {
    for fails in [false, true] {
        let mut watch = Watch::default();
        let piece = watch.hold(Event { operation: "sync", file: SECOND_UNFINISHED, nth: 1 });
        // The segment's header is its first sync.
        let group = watch.hold(Event { operation: "sync", file: "log.0000000002", nth: 2 });
        let published = watch.hear(publishing(SECOND));
        let mut running = Running::start(at_once(), watch);
        piece.reached.recv_timeout(LIMIT).unwrap();
        let ticket = running.stage(1);
        group.reached.recv_timeout(LIMIT).unwrap();
        piece.go_on();
        // What must not happen has no event; this only gives it time.
        assert_eq!(published.recv_timeout(Duration::from_millis(50)), Err(RecvTimeoutError::Timeout));
        if fails {
            group.refuse();
            assert_eq!(durable(ticket).unwrap_err().code, ErrorCode::CheckpointFailed);
            running.toggle(2).unwrap();
            assert!(published.try_recv().is_err(), "it was published after the log had failed");
        } else {
            group.go_on();
            durable(ticket).unwrap();
            published.recv_timeout(LIMIT).unwrap();
        }
        running.stop();
    }
}

#[test]
fn a_log_that_fails_during_a_snapshot_is_reopened_once_that_is_abandoned() {
    let mut watch = Watch::default();
    let piece = watch.hold(Event { operation: "sync", file: SECOND_UNFINISHED, nth: 1 });
    let group = watch.hold(Event { operation: "sync", file: "log.0000000002", nth: 2 });
    let (removed, published) = (
        watch.hear(Event { operation: "remove", file: SECOND_UNFINISHED, nth: 1 }),
        watch.hear(publishing(SECOND)),
    );
    // The first that is not held.
    let another_piece = watch.hear(Event { operation: "sync", file: SECOND_UNFINISHED, nth: 1 });
    let reopened = watch.hear(publishing(THIRD));
    let mut running = Running::start(at_once(), watch);
    piece.reached.recv_timeout(LIMIT).unwrap();
    let ticket = running.stage(1);
    group.reached.recv_timeout(LIMIT).unwrap();
    group.refuse();
    assert_eq!(durable(ticket).unwrap_err().code, ErrorCode::CheckpointFailed, "its caller does not wait");
    let ticket = running.stage(2);
    assert_eq!(reopened.recv_timeout(Duration::from_millis(50)), Err(RecvTimeoutError::Timeout));
    piece.go_on();
    durable(ticket).unwrap();
    removed.try_recv().expect("the unfinished snapshot was removed first");
    reopened.try_recv().expect("another snapshot has reopened the log");
    assert!(another_piece.try_recv().is_err() && published.try_recv().is_err(), "it went on");
    running.stop();
}

#[test]
fn a_writer_that_is_stopped_during_a_snapshot_writes_what_is_staged_and_abandons_it() {
    let (piece, mut running) = hanging();
    let ticket = running.stage(1);
    running.thread.stop();
    durable(ticket).unwrap();
    running.wait_for_refusal();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let is_over = runtime.block_on(async {
        let mut ended = pin!(running.thread.ended());
        poll_fn(|context| Poll::Ready(ended.as_mut().poll(context).is_ready())).await
    });
    assert!(!is_over, "the snapshot may still write");
    piece.go_on();
    assert_eq!(runtime.block_on(running.thread.ended()), Ok(()));
    let files: BTreeSet<_> = running.disk.list().unwrap().into_iter().collect();
    assert_eq!(files, ["log.0000000001", "log.0000000002"].map(str::to_owned).into());
    running.stop();
}

/// The longer a piece took, the longer is the rest after it, but nobody waits for that.
#[test]
fn a_snapshot_that_rests_ends_at_once_with_its_writer() {
    let (disk, clock, mut watch) = (SimDisk::new(0), Arc::new(ManualClock::at(NOW)), Watch::default());
    let piece = watch.hold(Event { operation: "sync", file: SECOND_UNFINISHED, nth: 1 });
    let removed = watch.hear(Event { operation: "remove", file: SECOND_UNFINISHED, nth: 1 });
    let options = Options {
        disk: Arc::new(WatchedDisk::new(disk.clone(), watch)),
        clock: Arc::clone(&clock) as _,
        compact_above: at_once(),
        ..options(&disk, 1)
    };
    let mut running = Running::start_on(disk, options, |memory| Arc::new(memory.clone()));
    piece.reached.recv_timeout(LIMIT).unwrap();
    clock.advance(LIMIT * 100);
    piece.go_on();
    running.toggle(1).unwrap();
    running.thread.stop();
    running.thread.leave();
    removed.recv_timeout(LIMIT).unwrap();
}

#[test]
fn nobody_waits_for_a_snapshot_that_hangs_once_its_writer_is_left() {
    let (piece, mut running) = hanging();
    let ticket = running.stage(1);
    running.thread.stop();
    running.thread.leave();
    durable(ticket).unwrap();
    piece.go_on();
}

#[test]
fn a_snapshot_that_fails_is_tried_again_when_the_log_has_grown() {
    for (operation, nth) in [("create", 1), ("append", 1), ("sync", 1), ("sync", 2), ("rename", 1)] {
        let mut watch = Watch::default();
        let failing = watch.hold(Event { operation, file: SECOND_UNFINISHED, nth });
        let published = watch.hear(publishing(THIRD));
        let mut running = Running::start(ABOVE, watch);
        running.write_until(&failing.reached);
        failing.refuse();
        running.write_until(&published);
        let log = running.disk.contents("log.0000000002").unwrap();
        assert!(log.len() as u64 >= ABOVE, "the log had {} bytes", log.len());
        let files = running.disk.list().unwrap();
        assert!(!files.iter().any(|name| name.starts_with(SECOND)), "{files:?}");
        running.stop();
    }
}

#[test]
fn a_snapshot_whose_thread_panics_has_failed() {
    let mut watch = Watch::default();
    let published = watch.hear(publishing(THIRD));
    let (looked, looks) = mpsc::channel();
    let breaks = move || assert!(looked.send(()).is_err(), "the source broke");
    let mut running = Running::start_with(ABOVE, watch, |memory| {
        Arc::new(Meddled::new(memory.clone(), [Box::new(breaks) as images::Deed]))
    });
    running.write_until(&looks);
    running.write_until(&published);
    assert_eq!(running.journal.health(), Ok(()));
    assert_eq!(answer(running.journal.barrier()), Some(Ok(())));
    let files = running.disk.list().unwrap();
    assert!(!files.iter().any(|name| name.starts_with(SECOND)), "{files:?}");
    running.stop();
}
