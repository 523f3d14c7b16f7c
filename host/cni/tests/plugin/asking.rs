//! How the plugin calls the daemon, and how it handles every outcome of the call.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::support::{Daemon, Plugin, Reply};
use tenure_spool::Spool;
use tenure_types::{Error, ErrorCode};

const RESULT: &str = r#"{"cniVersion":"1.1.0","ips":[{"address":"10.0.0.2/24"}]}"#;

#[test]
fn each_command_reaches_its_method_with_all_it_was_given() {
    let daemon = Daemon::new(Reply::Output(RESULT));
    for (index, command) in ["ADD", "DEL", "CHECK", "GC", "STATUS"].into_iter().enumerate() {
        let config = r#"{ "cniVersion": "1.1.0", "name": "net", "ipam": {} }"#;
        let plugin =
            Plugin::new(command, &daemon.socket()).variable("CNI_ARGS", "IP=10.0.0.2").config(config);
        assert_eq!(plugin.succeed(), RESULT);

        let (method, invocation) = &daemon.calls()[index];
        assert_eq!(*method, command.to_lowercase());
        assert_eq!(invocation.config, config.as_bytes());
        assert_eq!((invocation.container_id.as_str(), invocation.interface.as_str()), ("pod-1", "eth0"));
        assert_eq!((invocation.netns.as_str(), invocation.path.as_str()), ("/no/such/netns", "/opt/cni/bin"));
        assert_eq!(invocation.args, "IP=10.0.0.2");
    }
    let started: Vec<_> =
        daemon.calls().iter().map(|(_, invocation)| invocation.started_at_boot_ns).collect();
    assert!(started[0] > 0 && started.is_sorted(), "{started:?}");
}

#[test]
fn the_configuration_names_the_socket_before_the_environment_does() {
    let daemon = Daemon::new(Reply::Output(RESULT));
    let socket = daemon.socket();
    let config =
        format!(r#"{{"cniVersion":"1.1.0","name":"net","ipam":{{"socket":"{}"}}}}"#, socket.display());
    assert_eq!(Plugin::new("ADD", Path::new("/no/such.sock")).config(config).succeed(), RESULT);
}

#[test]
fn it_serves_under_the_name_of_host_local() {
    let daemon = Daemon::new(Reply::Output(RESULT));
    let link = daemon.socket().with_file_name("host-local");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tenure"), &link).unwrap();
    assert_eq!(Plugin::new("ADD", &daemon.socket()).program(link).succeed(), RESULT);
}

#[test]
fn under_the_name_of_the_main_plugin_it_asks_for_a_link() {
    let daemon = Daemon::new(Reply::Output(RESULT));
    let link = daemon.socket().with_file_name("tenure-eni");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tenure"), &link).unwrap();
    for command in ["ADD", "DEL", "CHECK", "GC", "STATUS"] {
        // It never speaks for an agent, in any container: a claim has no link.
        let plugin = Plugin::new(command, &daemon.socket()).variable("TENURE_AGENT_SOCKET", "/no/such.sock");
        assert_eq!(plugin.program(link.clone()).succeed(), RESULT);
    }
    let called: Vec<&str> = daemon.calls().iter().map(|(method, _)| *method).collect();
    assert_eq!(called, ["eni add", "del", "eni check", "gc", "eni status"]);
}

#[test]
fn a_daemon_that_is_too_old_for_links_gives_no_address_alone() {
    let daemon = Daemon::new(Reply::Status(tonic::Status::unimplemented("")));
    let link = daemon.socket().with_file_name("tenure-eni");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tenure"), &link).unwrap();
    let printed = Plugin::new("ADD", &daemon.socket()).program(link).run();
    let error: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(error["msg"].as_str().unwrap().contains("gRPC status 12"), "{error}");
}

#[test]
fn a_large_configuration_arrives_whole() {
    let daemon = Daemon::new(Reply::Output(""));
    let attachments = vec![r#"{"containerID":"0123456789abcdef","ifname":"eth0"}"#; 40_000].join(",");
    let config = format!(
        r#"{{"cniVersion":"1.1.0","name":"net","ipam":{{}},"cni.dev/valid-attachments":[{attachments}]}}"#
    );
    assert_eq!(Plugin::new("GC", &daemon.socket()).config(config.clone()).succeed(), "");
    assert!(daemon.calls()[0].1.config == config.as_bytes());
}

/// The error object that an ADD prints when the daemon refuses it.
fn printed(error: Error) -> serde_json::Value {
    let daemon = Daemon::new(Reply::Refuse(error));
    let printed = Plugin::new("ADD", &daemon.socket()).run();
    assert_eq!(printed.code, Some(1), "{printed:?}");
    serde_json::from_str(&printed.stdout).unwrap()
}

#[test]
fn the_daemons_refusal_is_printed_with_code_cause_and_next_step() {
    for code in [ErrorCode::PoolExhausted, ErrorCode::Overloaded] {
        let details = format!("{code}: {}", code.next_step());
        let expected = serde_json::json!({"cniVersion": "1.1.0", "code": code.cni(), "msg": "the cause: é", "details": details});
        assert_eq!(printed(Error::new(code, "the cause: é")), expected);
    }
}

#[test]
fn where_the_text_is_the_references_the_rest_is_in_the_details() {
    let error = Error::new(ErrorCode::PoolExhausted, "policy p@d: é").told_as("é");
    let next_step = error.code.next_step();
    let details = format!("pool-exhausted: network net: policy p@d; {next_step}");
    let expected = serde_json::json!({"cniVersion": "1.1.0", "code": 101, "msg": "é", "details": details});
    assert_eq!(printed(error), expected);
    let error = Error::new(ErrorCode::InvalidConfig, "policy p@d: é");
    assert_eq!(printed(error), serde_json::json!({"cniVersion": "1.1.0", "code": 7, "msg": "policy p@d: é"}));
}

/// A configuration whose `ipam.resolvConf` is a path.
fn with_resolv_conf(path: &Path) -> String {
    format!(r#"{{"cniVersion":"1.1.0","name":"net","ipam":{{"resolvConf":"{}"}}}}"#, path.display())
}

#[test]
fn an_add_carries_the_resolv_conf_that_the_plugin_sees() {
    let daemon = Daemon::new(Reply::Output(RESULT));
    let file = daemon.socket().with_file_name("resolv.conf");
    fs::write(&file, "nameserver 192.0.2.1\n").unwrap();
    for command in ["ADD", "DEL", "CHECK", "GC", "STATUS"] {
        Plugin::new(command, &daemon.socket()).config(with_resolv_conf(&file)).succeed();
    }
    Plugin::new("ADD", &daemon.socket()).succeed();
    let sent: Vec<_> = daemon.calls().into_iter().map(|(_, invocation)| invocation.resolv_conf).collect();
    let text = Some("nameserver 192.0.2.1\n".to_owned());
    assert_eq!(sent, [text, None, None, None, None, None]);
}

#[test]
fn a_resolv_conf_that_blocks_or_never_ends_is_refused_by_the_plugin() {
    let daemon = Daemon::new(Reply::Output(RESULT));
    let fifo = daemon.socket().with_file_name("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    for path in [fifo.as_path(), Path::new("/dev/zero")] {
        let (code, message, _) = Plugin::new("ADD", &daemon.socket()).config(with_resolv_conf(path)).fail();
        let expected = format!("ipam.resolvConf: {}: not a regular file", path.display());
        assert_eq!((code, message), (7, expected));
        // A DEL still frees the address.
        Plugin::new("DEL", &daemon.socket()).config(with_resolv_conf(path)).succeed();
    }
    assert!(daemon.calls().iter().all(|(method, _)| *method == "del"), "{:?}", daemon.calls());
}

#[test]
fn a_refused_del_is_an_error_and_not_spooled() {
    let daemon = Daemon::new(Reply::Refuse(Error::new(ErrorCode::CheckpointFailed, "the disk is gone")));
    assert_eq!(Plugin::new("DEL", &daemon.socket()).fail().0, 111);
    assert_eq!(Spool::beside(&daemon.socket()).waiting().unwrap(), Vec::<PathBuf>::new());
}

#[test]
fn statuses_that_are_not_the_daemons_own_are_understood() {
    for (status, code, cause) in [
        (
            tonic::Status::unimplemented("no such é"),
            199,
            "the daemon answered with gRPC status 12: no such é",
        ),
        (tonic::Status::deadline_exceeded("late"), 11, "tenured did not answer within 20s"),
    ] {
        let daemon = Daemon::new(Reply::Status(status));
        let (found, message, _) = Plugin::new("ADD", &daemon.socket()).fail();
        assert_eq!((found, message.as_str()), (code, cause));
    }
    let daemon = Daemon::new(Reply::Status(tonic::Status::unavailable("draining")));
    let (code, message, _) = Plugin::new("ADD", &daemon.socket()).fail();
    assert!(code == 11 && message.ends_with("draining"), "{message}");
}

#[test]
fn an_empty_answer_to_add_is_no_result() {
    let daemon = Daemon::new(Reply::Output(""));
    assert_eq!(Plugin::new("ADD", &daemon.socket()).fail().0, 199);
}

#[test]
fn a_hanging_daemon_ends_in_try_again() {
    let daemon = Daemon::new(Reply::Hang);
    let config = r#"{"cniVersion":"1.1.0","name":"net","ipam":{"timeout":0.2}}"#;
    for command in ["ADD", "DEL", "CHECK", "GC", "STATUS"] {
        let (code, message, _) = Plugin::new(command, &daemon.socket()).config(config).fail();
        assert_eq!((code, message.as_str()), (11, "tenured did not answer within 200ms"));
    }
}

#[test]
fn a_daemon_that_accepts_nobody_ends_in_try_again() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cni.sock");
    let _never_accepts = UnixListener::bind(&socket).unwrap();
    let config = r#"{"cniVersion":"1.1.0","name":"net","ipam":{"timeout":0.2}}"#;
    assert_eq!(Plugin::new("ADD", &socket).config(config).fail().0, 11);
}

/// Checks what each command does when no daemon answers on a socket.
fn check_daemon_down(socket: &Path) {
    for (command, expected) in [("ADD", 11), ("CHECK", 11), ("GC", 11), ("STATUS", 50)] {
        let (code, message, _) = Plugin::new(command, socket).fail();
        assert_eq!(code, expected, "{command}: {message}");
        assert!(message.starts_with(&format!("cannot reach tenured at {}: ", socket.display())), "{message}");
    }
    let del = Plugin::new("DEL", socket).variable("CNI_NETNS", "").config(r#"{"name":"net","ipam":7}"#);
    assert_eq!(del.succeed(), "");
    let spool = Spool::beside(socket);
    let waiting = spool.waiting().unwrap();
    assert_eq!(waiting.len(), 1);
    let invocation = spool.read(&waiting[0]).unwrap();
    assert_eq!((invocation.container_id.as_str(), invocation.interface.as_str()), ("pod-1", "eth0"));
    assert_eq!(invocation.config, br#"{"name":"net","ipam":7}"#);
    assert!(invocation.started_at_boot_ns > 0);
    assert_eq!(invocation.started_at_boot_ms, invocation.started_at_boot_ns / 1_000_000);
}

#[test]
fn a_daemon_that_was_never_there() {
    let directory = tempfile::tempdir().unwrap();
    check_daemon_down(&directory.path().join("cni.sock"));
}

/// As on a node where the daemon has not started since boot, or where `ipam.socket` is mistyped.
#[test]
fn a_del_is_not_done_where_no_daemon_has_its_directory() {
    let directory = tempfile::tempdir().unwrap();
    let (code, message, _) = Plugin::new("DEL", &directory.path().join("run/cni.sock")).fail();
    assert_eq!(code, 11);
    let why = format!("run directory {}: ", directory.path().join("run").display());
    assert!(message.contains(&why), "{message}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "no daemon would ever read a spool there");
}

#[test]
fn a_daemon_that_has_died() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cni.sock");
    drop(UnixListener::bind(&socket).unwrap());
    check_daemon_down(&socket);
}

/// Listens as something other than a daemon: it answers every connection with these bytes and closes it.
fn impostor(directory: &Path, answer: &'static [u8]) -> PathBuf {
    let socket = directory.join("cni.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // Wait for the start of the request before answering; the plugin may be gone by then.
            stream.read_exact(&mut [0; 24]).ok();
            stream.write_all(answer).ok();
        }
    });
    socket
}

#[test]
fn a_daemon_that_closes_the_connection() {
    let directory = tempfile::tempdir().unwrap();
    check_daemon_down(&impostor(directory.path(), b""));
}

#[test]
fn a_daemon_that_speaks_nonsense() {
    let directory = tempfile::tempdir().unwrap();
    check_daemon_down(&impostor(directory.path(), b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"));
}

#[test]
fn a_del_that_cannot_be_kept_is_not_done() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("spool"), "in the way").unwrap();
    let (code, message, _) = Plugin::new("DEL", &directory.path().join("cni.sock")).fail();
    assert_eq!(code, 11);
    assert!(message.contains("; and the DEL could not be spooled: "), "{message}");
}
