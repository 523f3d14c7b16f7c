//! How the plugin waits for a daemon that is restarting.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use tenure_spool::Spool;
use tenure_types::{Error, ErrorCode};

use crate::support::{Daemon, Plugin, Printed, Reply};

const RESULT: &str = r#"{"cniVersion":"1.1.0","ips":[{"address":"10.0.0.2/24"}]}"#;

/// Machines that test are busy, so the wait is long.
const PATIENT: &str = r#"{"cniVersion":"1.1.0","name":"net","ipam":{"type":"tenure","timeout":120}}"#;

/// A call whose daemon went away when it was asked; nobody listens now.
fn cut_off(command: &'static str, socket: &Path) -> JoinHandle<Printed> {
    let listener = UnixListener::bind(socket).unwrap();
    let plugin = Plugin::new(command, socket).config(PATIENT);
    let call = std::thread::spawn(move || plugin.run());
    drop(listener.accept().unwrap());
    call
}

fn served(command: &'static str, between: impl FnOnce(&Path)) {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cni.sock");
    let call = cut_off(command, &socket);
    between(&socket);
    let daemon = Daemon::at(directory, Reply::Output(RESULT));
    let printed = call.join().unwrap();
    assert_eq!((printed.code, printed.stdout.as_str()), (Some(0), RESULT), "{command}: {printed:?}");
    assert_eq!(daemon.calls().len(), 1);
    assert_eq!(Spool::beside(&socket).waiting().unwrap(), Vec::<PathBuf>::new(), "{command} was spooled");
}

#[test]
fn a_call_waits_for_the_next_daemon_at_a_socket_that_nobody_listens_on() {
    for command in ["ADD", "CHECK", "GC"] {
        served(command, |_| {});
    }
}

#[test]
fn a_call_waits_for_the_next_daemon_while_there_is_no_socket() {
    for command in ["ADD", "CHECK", "GC"] {
        served(command, |socket| std::fs::remove_file(socket).unwrap());
    }
}

/// The same call is repeated, with the same start time.
#[test]
fn a_daemon_that_says_that_it_is_stopping_is_asked_again() {
    let stopping = Error::new(ErrorCode::Stopping, "the daemon is stopping");
    let daemon = Daemon::new(Reply::First(stopping, RESULT));
    assert_eq!(Plugin::new("ADD", &daemon.socket()).config(PATIENT).succeed(), RESULT);
    let calls = daemon.calls();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0], calls[1]);
}

#[test]
fn another_refusal_is_final() {
    for code in [ErrorCode::NotReady, ErrorCode::PoolExhausted, ErrorCode::Superseded] {
        let daemon = Daemon::new(Reply::First(Error::new(code, "no"), RESULT));
        let (told, _, _) = Plugin::new("ADD", &daemon.socket()).config(PATIENT).fail();
        assert_eq!((told, daemon.calls().len()), (u64::from(code.cni()), 1));
    }
}

#[test]
fn status_tells_how_it_is_now() {
    let directory = tempfile::tempdir().unwrap();
    let call = cut_off("STATUS", &directory.path().join("cni.sock"));
    let printed = call.join().unwrap();
    assert!(printed.stdout.contains(r#""code":50"#), "{printed:?}");
}

/// If no daemon comes, the DEL is spooled, however long the configuration lets other calls wait.
#[test]
fn a_del_is_spooled_after_a_moment() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cni.sock");
    let config = r#"{"cniVersion":"1.1.0","name":"net","ipam":{"timeout":3600,"wait":3600}}"#;
    assert_eq!(Plugin::new("DEL", &socket).config(config).succeed(), "");
    assert_eq!(Spool::beside(&socket).waiting().unwrap().len(), 1);
}

#[test]
fn a_wait_that_is_over_names_its_cause_and_the_next_step() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cni.sock");
    let config = r#"{"cniVersion":"1.0.0","name":"net","ipam":{"wait":0.05}}"#;
    let printed = Plugin::new("ADD", &socket).config(config).run();
    let expected = [
        "the socket does not exist, so tenured is stopped or still starting",
        "daemon-unreachable: check that tenured is running",
    ];
    assert!(expected.iter().all(|part| printed.stdout.contains(part)), "{printed:?}");
    assert!(printed.stdout.contains(&socket.display().to_string()), "{printed:?}");
}
