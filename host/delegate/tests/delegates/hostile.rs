//! Delegates that misbehave.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use sha2::{Digest, Sha256};
use tenure_delegate::{CallFailure, DelegateProgram, DelegateSettings};
use tenure_types::{DelegateVerb, ErrorCode, PodIdentity};
use tokio::runtime::Runtime;

use crate::support::{RESULT, Script, add, call, eventually, outlived, runs, runtime, tell};
use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_delegate_that_hangs_is_killed_with_all_that_it_started", hangs),
        trial("garbage_is_no_answer", garbage),
        trial("an_error_counts_whatever_the_exit_code_is", errors),
        trial("what_a_delegate_prints_is_bounded", endless),
        trial("a_child_that_holds_the_pipes_is_not_waited_for", left_behind),
        trial("what_cannot_be_run_safely_is_not_run", unusable),
        trial("a_pinned_binary_that_was_replaced_is_not_run", replaced),
        trial("a_delegate_gets_its_environment_and_nothing_else", environment),
        trial("a_delegate_that_reads_nothing_is_heard", deaf),
        trial("a_call_that_nobody_waits_for_goes_on_and_the_next_one_waits_for_it", abandoned),
        trial("a_garbage_collection_that_nobody_waits_for_holds_up_new_addresses", collects),
        trial("a_delegate_outlives_the_daemon_and_the_next_one_waits_for_it", outlives),
        trial("a_delegate_that_hangs_does_not_outlive_the_daemon_for_long", outlives_too_long),
        trial("verbs_are_those_of_the_version_that_the_delegate_speaks", versions),
    ]
}

fn hangs() -> Result<(), Failed> {
    let script = Script::new("sleep 600 & echo $! > child; echo $$ > own; sleep 600");
    let settings = DelegateSettings { timeout: Duration::from_millis(500), ..script.settings() };
    let failure = add(&script.delegate_with(settings), &call("10")).unwrap_err();
    assert_eq!(failure, CallFailure::TimedOut(Duration::from_millis(500)));
    assert_eq!(failure.told("x").code, ErrorCode::DelegateUnavailable);
    for file in ["own", "child"] {
        let pid = script.wrote(file);
        assert!(!pid.is_empty());
        eventually("a process is left", || !runs(&pid));
    }
    Ok(())
}

fn garbage() -> Result<(), Failed> {
    for (body, said) in [
        ("echo garbage", "its output is not a CNI result: not a JSON object"),
        ("printf '\\001\\377\\033[31m'", "its output is not a CNI result"),
        ("true", "its output is not a CNI result"),
        ("echo '{}'", "it has no addresses"),
        ("echo '{\"ips\":[{\"address\":\"10.0.0.1\"}]}'", "not an address in CIDR form"),
        ("echo oh no >&2; exit 3", "it ended with exit status: 3 and without an answer: oh no"),
        ("kill -9 $$", "it ended with signal: 9"),
    ] {
        let failure = Script::new(body).add().unwrap_err();
        let told = failure.told("x");
        assert_eq!(told.code, ErrorCode::DelegateFailed, "{body}: {told}");
        assert!(told.cause.contains(said) && !told.cause.contains('\u{1b}'), "{body}: {told}");
        assert!(failure.may_have_run(), "{body}");
    }
    // A result of a delegate that then fails is none.
    let failure = Script::new(&format!("echo '{RESULT}'; exit 1")).add().unwrap_err();
    assert!(matches!(failure, CallFailure::Nonsense(_)), "{failure}");
    Ok(())
}

fn errors() -> Result<(), Failed> {
    for exit in ["0", "1"] {
        let body = format!("echo '{{\"code\":101,\"msg\":\"none\",\"details\":\"left\"}}'; exit {exit}");
        let failure = Script::new(&body).add().unwrap_err();
        assert_eq!(failure, CallFailure::Refused { code: 101, message: "none; left".into() });
    }
    let script = Script::new("echo '{\"code\":11,\"msg\":\"later\"}'");
    assert_eq!(script.add().unwrap_err().told("x").code, ErrorCode::DelegateUnavailable);
    let refused = tell(&script.delegate(), &call("10"), &DelegateVerb::Del).unwrap_err();
    assert!(refused.is_refusal());
    Ok(())
}

fn endless() -> Result<(), Failed> {
    for (redirection, stream) in [("", "output"), (">&2", "error")] {
        let script = Script::new(&format!("head -c 100000000 /dev/zero {redirection}; echo done > done"));
        let failure = script.add().unwrap_err();
        assert!(matches!(failure, CallFailure::TooMuch { .. }), "{failure}");
        assert!(failure.to_string().contains(&format!("standard {stream}")), "{failure}");
        assert_eq!(script.wrote("done"), "", "it was killed");
    }
    Ok(())
}

fn left_behind() -> Result<(), Failed> {
    // One in the delegate's group, which is killed, and one that has left it, which is not waited for.
    let leave = "setsid sh -c 'echo $$ > outside; exec sleep 600' & until [ -s outside ]; do :; done";
    let script = Script::new(&format!("sleep 600 & echo $! > inside; {leave}; echo '{RESULT}'; exit 0"));
    let settings = DelegateSettings { timeout: Duration::from_secs(300), ..script.settings() };
    let given = add(&script.delegate_with(settings), &call("10"));
    let outside = script.wrote("outside");
    let still_runs = runs(&outside);
    Command::new("kill").arg("-9").arg(outside.trim()).status()?;
    assert_eq!(given.unwrap().addresses.len(), 1);
    assert!(still_runs, "it held the pipes until the end");
    let inside = script.wrote("inside");
    eventually("the child in the group is left", || !runs(&inside));
    Ok(())
}

fn unusable() -> Result<(), Failed> {
    let script = Script::new(&format!("echo '{RESULT}'"));
    let directory = script.directory.path();
    let at = |path: PathBuf| {
        add(&script.delegate_with(DelegateSettings { path, ..script.settings() }), &call("10"))
    };
    Command::new("mkfifo").arg(directory.join("fifo")).status()?;
    for (path, why) in [
        (directory.join("missing"), "No such file"),
        (directory.to_owned(), "not a regular file"),
        (directory.join("fifo"), "not a regular file"),
    ] {
        let failure = at(path).unwrap_err();
        assert!(!failure.may_have_run() && failure.to_string().contains(why), "{failure}");
        assert_eq!(failure.told("x").code, ErrorCode::DelegateUnavailable);
    }
    for (mode, why) in [(0o644, "not executable"), (0o775, "its group or others may write it")] {
        fs::set_permissions(&script.path, fs::Permissions::from_mode(mode))?;
        let failure = script.add().unwrap_err();
        assert!(failure.to_string().contains(why), "{failure}");
    }
    fs::set_permissions(&script.path, fs::Permissions::from_mode(0o755))?;
    assert!(script.add().is_ok(), "it may be back tomorrow");
    fs::write(directory.join("empty"), "")?;
    fs::set_permissions(directory.join("empty"), fs::Permissions::from_mode(0o755))?;
    assert!(matches!(at(directory.join("empty")).unwrap_err(), CallFailure::Nonsense(_)));
    Ok(())
}

fn replaced() -> Result<(), Failed> {
    let script = Script::new(&format!("echo '{RESULT}'"));
    let sha256 = format!("{:x}", Sha256::digest(fs::read(&script.path)?));
    let pinned = script.delegate_with(DelegateSettings { sha256: Some(sha256), ..script.settings() });
    let free = script.delegate();
    assert!(add(&pinned, &call("10")).is_ok() && add(&free, &call("10")).is_ok());
    script.write(&format!("echo ran > ran; echo '{}'", RESULT.replace("10.9.0.2", "10.9.0.3")));
    let failure = add(&pinned, &call("10")).unwrap_err();
    assert!(failure.to_string().contains("its SHA-256 is"), "{failure}");
    assert!(!failure.may_have_run() && script.wrote("ran").is_empty());
    let given = add(&free, &call("10")).unwrap();
    assert_eq!(given.addresses[0].ip().to_string(), "10.9.0.3");
    // A pinned binary runs from memory: what the file has become meanwhile does not matter.
    let body = format!("echo '{RESULT}'; until [ -e go ]; do :; done; exit 0");
    script.write(&body);
    let sha256 = format!("{:x}", Sha256::digest(fs::read(&script.path)?));
    let pinned = script.delegate_with(DelegateSettings { sha256: Some(sha256), ..script.settings() });
    let runtime = runtime();
    let running = runtime.spawn(async move { pinned.add(&call("10")).await });
    let text = fs::read_to_string(&script.path)?;
    fs::write(script.directory.path().join("go"), "")?;
    assert!(runtime.block_on(running)?.is_ok(), "{text}");
    Ok(())
}

fn environment() -> Result<(), Failed> {
    let script = Script::new(&format!("cat /proc/$$/environ > environment; cat > input; echo '{RESULT}'"));
    let mut settings = script.settings();
    settings.environment.insert("PROXY".to_owned(), "p".to_owned());
    settings.environment.insert("CNI_ARGS".to_owned(), "not this".to_owned());
    let pod = PodIdentity { namespace: "web".into(), name: "front-0".into(), uid: "a;b".into() };
    let mut asked = call("c1");
    (asked.pod, asked.requested) = (Some(pod), vec!["10.9.0.2".parse()?]);
    add(&script.delegate_with(settings), &asked).unwrap();
    let wrote = script.wrote("environment");
    let mut found: Vec<&str> = wrote.split_terminator('\0').collect();
    found.sort_unstable();
    let path = format!("CNI_PATH={}", script.directory.path().display());
    assert_eq!(
        found,
        [
            "CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=web;K8S_POD_NAME=front-0;K8S_POD_INFRA_CONTAINER_ID=c1",
            "CNI_COMMAND=ADD",
            "CNI_CONTAINERID=c1",
            "CNI_IFNAME=eth0",
            "CNI_NETNS=/run/netns/tenure-claims",
            &path,
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PROXY=p",
        ]
    );
    let expected = r#"{"args":{"cni":{"ips":["10.9.0.2"]}},"cniVersion":"1.1.0","ipam":{"key":"value","type":"delegate"},"name":"pods","type":"tenure"}"#;
    assert_eq!(script.wrote("input"), expected);
    Ok(())
}

fn deaf() -> Result<(), Failed> {
    let script = Script::new(&format!("exec < /dev/null; echo '{RESULT}'"));
    let long = format!(r#"{{"key":"{}"}}"#, "x".repeat(4 << 20));
    let asked = tenure_types::DelegateCall { ipam: long.into(), ..call("10") };
    assert!(add(&script.delegate(), &asked).is_ok());
    // One that reads all of it gets all of it.
    let script = Script::new(&format!("wc -c > length; echo '{RESULT}'"));
    assert!(add(&script.delegate(), &asked).is_ok());
    assert!(script.wrote("length").trim().parse::<usize>()? > 4 << 20);
    Ok(())
}

/// Begins a call that takes until a file `go` exists, and lets its caller go away.
fn abandon(script: &Script, delegate: &Arc<DelegateProgram>, runtime: &Runtime, verb: Option<DelegateVerb>) {
    let waiting = {
        let delegate = Arc::clone(delegate);
        runtime.spawn(async move {
            match verb {
                Some(verb) => delegate.tell(&call("10"), &verb).await.map(drop),
                None => delegate.add(&call("10")).await.map(drop),
            }
        })
    };
    eventually("it did not start", || !script.wrote("log").is_empty());
    waiting.abort();
}

/// Says when each of its calls begins and ends; all but DEL take until a file `go` exists.
fn slow() -> String {
    let wait = "[ \"$CNI_COMMAND\" = DEL ] || until [ -e go ]; do sleep 0.01; done";
    format!(
        "echo begin $CNI_COMMAND >> log; {wait}; echo noise >&2; echo end $CNI_COMMAND >> log; echo '{RESULT}'"
    )
}

fn abandoned() -> Result<(), Failed> {
    let script = Script::new(&slow());
    let (delegate, runtime) = (Arc::new(script.delegate()), runtime());
    abandon(&script, &delegate, &runtime, None);
    let next = {
        let delegate = Arc::clone(&delegate);
        runtime.spawn(async move { delegate.tell(&call("10"), &DelegateVerb::Del).await })
    };
    // Another attachment has nothing to wait for.
    runtime.block_on(delegate.tell(&call("11"), &DelegateVerb::Del))?;
    assert_eq!(script.wrote("log"), "begin ADD\nbegin DEL\nend DEL\n");
    fs::write(script.directory.path().join("go"), "")?;
    runtime.block_on(next)??;
    assert_eq!(script.wrote("log"), "begin ADD\nbegin DEL\nend DEL\nend ADD\nbegin DEL\nend DEL\n");
    Ok(())
}

fn collects() -> Result<(), Failed> {
    let script = Script::new(&slow());
    let (delegate, runtime) = (Arc::new(script.delegate()), runtime());
    abandon(&script, &delegate, &runtime, Some(DelegateVerb::Gc { valid: BTreeSet::new() }));
    let next = {
        let delegate = Arc::clone(&delegate);
        runtime.spawn(async move { delegate.add(&call("11")).await })
    };
    runtime.block_on(delegate.tell(&call("12"), &DelegateVerb::Del))?;
    assert_eq!(script.wrote("log"), "begin GC\nbegin DEL\nend DEL\n");
    fs::write(script.directory.path().join("go"), "")?;
    assert!(runtime.block_on(next)?.is_ok());
    assert_eq!(script.wrote("log"), "begin GC\nbegin DEL\nend DEL\nend GC\nbegin ADD\nend ADD\n");
    Ok(())
}

fn outlives() -> Result<(), Failed> {
    let script = Script::new(&slow());
    let mut daemon = outlived::start(&script.path, script.directory.path());
    eventually("it did not start", || !script.wrote("log").is_empty());
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    // The next daemon, and any caller.
    let (delegate, runtime) = (script.delegate(), runtime());
    let next = runtime.spawn(async move { delegate.tell(&call("11"), &DelegateVerb::Del).await });
    // Another delegate has nothing to wait for.
    let other = Script::new(&format!("echo '{RESULT}'"));
    other.add()?;
    assert!(!next.is_finished());
    fs::write(script.directory.path().join("go"), "")?;
    runtime.block_on(next)??;
    // What it printed had nowhere to go, and did not end it.
    assert_eq!(script.wrote("log"), "begin ADD\nend ADD\nbegin DEL\nend DEL\n");
    Ok(())
}

fn outlives_too_long() -> Result<(), Failed> {
    let script = Script::new("sleep 600 & echo $! > child; echo $$ > new; mv new own; sleep 600");
    let mut daemon = outlived::start(&script.path, script.directory.path());
    eventually("it did not start", || !script.wrote("own").is_empty());
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert!(runs(&script.wrote("own")), "it has ended with the daemon");
    script.write(&format!("echo '{RESULT}'"));
    let settings = DelegateSettings { timeout: Duration::from_secs(2), ..script.settings() };
    // The first call of the next daemon has waited for that, and what the process has started is gone as well.
    add(&script.delegate_with(settings), &call("10"))?;
    for file in ["own", "child"] {
        eventually("a process is left", || !runs(&script.wrote(file)));
    }
    Ok(())
}

fn versions() -> Result<(), Failed> {
    let script = Script::new("cat > input");
    let delegate = script.delegate();
    let valid = [("c".to_owned(), "eth0".to_owned())];
    let valid = valid.map(|(container, interface)| {
        let container = tenure_types::ContainerId::new(container).unwrap();
        (container, tenure_types::InterfaceName::new(interface).unwrap())
    });
    let gc = DelegateVerb::Gc { valid: valid.into() };
    assert_eq!(tell(&delegate, &call("10"), &gc), Ok(()));
    let sent = script.wrote("input");
    assert!(sent.contains(r#""cni.dev/valid-attachments":[{"containerID":"c","ifname":"eth0"}]"#), "{sent}");
    assert_eq!(tell(&delegate, &call("10"), &DelegateVerb::Status), Ok(()));
    // The same path, an older plugin: it is asked again which versions it speaks.
    script.write("true");
    let older = fs::read_to_string(&script.path)?.replace(r#","1.0.0","1.1.0"]"#, r#","9.9.9"]"#);
    fs::write(&script.path, older)?;
    let failure = tell(&delegate, &call("10"), &DelegateVerb::Status).unwrap_err();
    assert_eq!(failure, CallFailure::NoSuchVerb("0.4.0", "STATUS"));
    Ok(())
}
