//! The real disk, the lock and the thread.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, mpsc};

use tenure_engine::ports::{Images, Journal, Ticket};
use tenure_fixtures::ports::Silent;

use super::fixture::{Memory, NOW, boot, clock, everything, network, owner};
use crate::{Disk, Error, FileDisk, Lock, LockError, LogReader, Options, Writer, boot_id, recover};

#[test]
fn the_second_daemon_is_told_who_the_first_is() {
    let directory = tempfile::tempdir().unwrap();
    let first = Lock::take(directory.path()).unwrap();
    let Err(LockError::Held { holder, .. }) = Lock::take(directory.path()) else { panic!("taken twice") };
    assert_eq!(holder, std::process::id().to_string());
    drop(first);
    Lock::take(directory.path()).unwrap();
}

/// Has the lock file name a process that has ended.
fn name_a_dead_process(directory: &Path) {
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    let dead = ended.id();
    ended.wait().unwrap();
    std::fs::write(directory.join(Lock::FILE), format!("{dead}\n")).unwrap();
}

#[test]
fn a_lock_that_outlives_its_process_for_a_moment_is_waited_for() {
    for _ in 0..4 {
        let directory = tempfile::tempdir().unwrap();
        let kept = Lock::take(directory.path()).unwrap();
        name_a_dead_process(directory.path());
        let path = directory.path().to_owned();
        let (begins, begun) = mpsc::channel();
        let next = std::thread::spawn(move || {
            begins.send(()).unwrap();
            Lock::take(&path).map(drop).map_err(|error| error.to_string())
        });
        begun.recv().unwrap();
        // Until a process has come and gone, the next one has found it locked.
        name_a_dead_process(directory.path());
        drop(kept);
        assert_eq!(next.join().unwrap(), Ok(()));
    }
}

#[test]
fn a_lock_that_stays_although_its_process_is_dead_is_not_waited_for_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let _kept = Lock::take(directory.path()).unwrap();
    name_a_dead_process(directory.path());
    assert!(matches!(Lock::take(directory.path()), Err(LockError::Held { .. })));
}

/// The next start looks at the path, and would not find what was written elsewhere.
#[test]
fn a_directory_or_a_file_that_is_not_where_it_was_opened_is_not_written_to() {
    let above = tempfile::tempdir().unwrap();
    let (state, elsewhere) = (above.path().join("state"), above.path().join("elsewhere"));
    let disk = FileDisk::create(&state).unwrap();
    let file = disk.create("log").unwrap();
    let writes = || {
        [file.is_in_place("log"), disk.rename("log", "log"), disk.create("other").map(drop), disk.sync_dir()]
    };
    let are_displaced = |writes: &[std::io::Result<()>]| {
        let told = "is no longer what this daemon opened";
        writes.iter().all(|write| write.as_ref().is_err_and(|error| error.to_string().contains(told)))
    };
    assert!(writes().iter().all(Result::is_ok));
    std::fs::rename(&state, &elsewhere).unwrap();
    assert!(are_displaced(&writes()[..3]), "{:?}", writes());
    // Another one is there, with a file of that name.
    std::fs::create_dir(&state).unwrap();
    std::fs::write(state.join("log"), "").unwrap();
    assert!(are_displaced(&writes()), "{:?}", writes());
    std::fs::remove_dir_all(&state).unwrap();
    std::fs::write(&state, "").unwrap();
    assert!(are_displaced(&writes()[..3]), "{:?}", writes());
    std::fs::remove_file(&state).unwrap();
    std::fs::rename(&elsewhere, &state).unwrap();
    assert!(writes().iter().all(Result::is_ok), "it is back");
    // Where that cannot be found out, the reason is told.
    std::fs::remove_file(state.join("log")).unwrap();
    std::os::unix::fs::symlink("log", state.join("log")).unwrap();
    let looped = file.is_in_place("log").unwrap_err().raw_os_error();
    assert_eq!(looped, Some(rustix::io::Errno::LOOP.raw_os_error()));
}

#[test]
fn a_state_directory_is_made_with_what_is_missing_above_it_and_never_in_place_of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("a/b/state");
    for _ in 0..2 {
        FileDisk::create(&state).unwrap();
        let mode = std::fs::metadata(&state).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
    std::fs::write(state.join("file"), "").unwrap();
    assert!(FileDisk::create(state.join("file")).is_err());
}

/// A regular file cannot tell a sync from no sync; a device that does not support sync can.
#[test]
fn the_kernel_is_asked_for_everything_and_its_refusal_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FileDisk::create(directory.path()).unwrap();
    std::os::unix::fs::symlink("/dev/null", directory.path().join("device")).unwrap();
    let mut device = disk.open("device").unwrap();
    assert!(device.sync_data().is_err());
    assert!(disk.sync_and_forget("device").is_err());
    assert!(device.truncate(0).is_err());
    assert!(device.reserve(1).is_err());
    assert!(disk.remove("nothing").is_err());
    assert!(FileDisk::existing(directory.path().join("nothing")).sync_dir().is_err());
}

#[test]
fn a_segment_that_cannot_be_opened_is_told_to_its_reader() {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().join("log.0000000001");
    std::os::unix::fs::symlink(&name, &name).unwrap();
    let mut reader = LogReader::new(Arc::new(FileDisk::existing(directory.path())));
    assert!(matches!(reader.next_item(), Err(Error::Io { .. })));
}

#[test]
fn a_thread_writes_what_a_restart_reads() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(FileDisk::create(directory.path().join("state")).unwrap());
    let mut expected = None;
    for start in 0..3_u64 {
        let recovered = recover(disk.as_ref(), &boot(1), NOW).unwrap();
        assert_eq!(recovered.report.fresh, start == 0);
        if let Some(expected) = &expected {
            assert_eq!(everything(&recovered), *expected);
        }
        let (writer, journal) = Writer::open(
            Options::new(Arc::clone(&disk) as _, clock(), Arc::new(Silent), boot(1), "node-1"),
            &recovered.tail,
        );
        let memory = Arc::new(Memory::of(recovered));
        let running = writer.run(Arc::clone(&memory) as Arc<dyn Images>).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let define = memory.define(&journal, &network(0, "10.0.0.0/8", "10.0.0.1", "10.0.3.255"));
        runtime.block_on(define.durable()).unwrap();
        let tickets: Vec<_> =
            (0..50).filter_map(|who| memory.give(&journal, 0, &owner(start * 100 + who))).collect();
        for ticket in tickets {
            runtime.block_on(ticket.durable()).unwrap();
        }
        journal.health().unwrap();
        // Staged last, and nobody waits for it: stopping still writes it.
        drop(memory.release(&journal, 0, &owner(start * 100), NOW).unwrap());
        expected = Some(memory.everything());
        drop(running);
        let late = memory.release(&journal, 0, &owner(start * 100 + 1), NOW).unwrap();
        assert!(runtime.block_on(late.durable()).is_err(), "nobody writes any more");
    }
}

#[test]
fn a_node_whose_state_directory_was_moved_away_acknowledges_nothing_and_says_so() {
    let above = tempfile::tempdir().unwrap();
    let (state, elsewhere) = (above.path().join("state"), above.path().join("elsewhere"));
    let disk = Arc::new(FileDisk::create(&state).unwrap());
    let recovered = recover(disk.as_ref(), &boot(1), NOW).unwrap();
    let options = Options::new(disk, clock(), Arc::new(Silent), boot(1), "node-1");
    let (mut writer, journal) = Writer::open(options, &recovered.tail);
    let memory = Memory::of(recovered);
    let mut written = |ticket: Ticket| {
        writer.step(&memory);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(ticket.durable())
    };
    written(memory.define(&journal, &network(0, "10.0.0.0/8", "10.0.0.1", "10.0.3.255"))).unwrap();
    std::fs::rename(&state, &elsewhere).unwrap();
    // Nobody waits, and a request would.
    written(journal.barrier()).unwrap();
    assert!(journal.health().is_err());
    assert!(written(memory.give(&journal, 0, &owner(1)).unwrap()).is_err());
}

#[test]
fn the_kernel_names_its_boot() {
    assert_eq!(boot_id().unwrap().0.len(), 36);
}
