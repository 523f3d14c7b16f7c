//! Policies that keep a state: racks that take turns in the real daemon, across kills and exchanges.
//!
//! `TENURE_SEED=n` repeats a run's random choices.

#[path = "support/component.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod component;

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use component::{build, digest};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Suite, wait};
use tenure_fixtures::random::{self, Random};

/// How long the daemon may take for something that it does by itself.
const SOON: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    Suite::new()
        .test("racks_take_turns_across_a_kill", &[], turns)
        .test("a_state_is_migrated_at_an_exchange_or_the_exchange_is_refused", &[], exchanged)
        .test("a_state_is_exported_and_imported", &[], exported)
        .test("a_kill_at_any_time_leaves_the_state_of_the_last_allocation", &[], killed)
        .run()
}

/// A network of two racks: 10.85.0.0/16 and 10.86.0.0/16.
fn network(policy: &str) -> Value {
    let rack = |third: u8, rack: &str| json!({ "subnet": format!("10.{third}.0.0/16"), "rangeAttributes": { "rack": rack } });
    let ipam = json!({ "type": "tenure", "policy": policy, "ranges": [[rack(85, "a"), rack(86, "b")]] });
    json!({ "cniVersion": "1.0.0", "name": "net", "type": "bridge", "ipam": ipam })
}

/// Adds a pod; returns its rack.
fn add(daemon: &Daemon, policy: &str, pod: &str) -> anyhow::Result<String> {
    let address = daemon.shim()?.call("ADD", &Attachment::of(pod), &network(policy))?.address()?;
    Ok(if address.starts_with("10.85.") { "a" } else { "b" }.to_owned())
}

/// Adds the first pod that a policy serves; until it has passed the conformance suite, the runtime has to retry.
fn add_first(daemon: &Daemon, policy: &str, pod: &str) -> anyhow::Result<String> {
    wait::until("the conformance suite", SOON, || Ok(add(daemon, policy, pod).ok()))
}

/// Loads the example under a name. `mark` goes into the component, so that each has a digest of its own.
fn load(daemon: &Daemon, name: &str, mark: &str) -> anyhow::Result<String> {
    let rotation = build("tenure-sdk/rotation", daemon)?;
    let mut bytes = fs::read(&rotation)?;
    // A custom section without contents.
    let name_length = u8::try_from(mark.len())?;
    bytes.extend([0, name_length + 1, name_length]);
    bytes.extend(mark.as_bytes());
    let path = daemon.path(&format!("{name}-{mark}.wasm"));
    fs::write(&path, bytes)?;
    daemon.ctl(&["policy", "load", &path.display().to_string(), "--name", name])?;
    digest(&path)
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// The version of the network's state, and its bytes.
fn state(daemon: &Daemon) -> anyhow::Result<(u64, String)> {
    let version = number(&daemon.ctl(&["policy", "state", "net"])?, "/now/version");
    let exported = daemon.ctl_output(&["policy", "state", "net", "--export", "-"])?;
    ensure!(exported.status.success(), "{exported:?}");
    Ok((version, String::from_utf8(exported.stdout)?))
}

/// The code and the cause of a command that must fail.
fn refused(daemon: &Daemon, arguments: &[&str]) -> anyhow::Result<(String, String)> {
    let output = daemon.ctl_output(arguments)?;
    ensure!(!output.status.success(), "{arguments:?} succeeded");
    let error: Value = serde_json::from_slice(&[output.stdout, output.stderr].concat())?;
    ensure!(!text(&error, "/error/next_step").is_empty(), "{error}");
    Ok((text(&error, "/error/code"), text(&error, "/error/cause")))
}

/// The facts of the log: each with its group.
fn facts(daemon: &Daemon) -> anyhow::Result<Vec<(u64, Value)>> {
    let log = daemon.ctl_output(&["log"])?;
    let mut facts = Vec::new();
    for line in String::from_utf8(log.stdout)?.lines() {
        let item: Value = serde_json::from_str(line)?;
        if let Some(fact) = item.get("fact") {
            facts.push((number(&item, "/group"), fact.clone()));
        }
    }
    Ok(facts)
}

/// Checks in the log that each allocation and its state are one group, and returns the last state.
fn check_groups(daemon: &Daemon) -> anyhow::Result<String> {
    let (mut allocated, mut kept) =
        (BTreeMap::<u64, Vec<String>>::new(), BTreeMap::<u64, Vec<String>>::new());
    let mut last = String::new();
    for (group, fact) in facts(daemon)? {
        if fact.get("allocated").is_some() {
            allocated.entry(group).or_default().push(text(&fact, "/allocated/tags/rack"));
        }
        for (kind, is_kept) in [("kept", true), ("undone", false)] {
            if let Some(stored) = fact.pointer(&format!("/{kind}/state")) {
                last = String::from_utf8(STANDARD.decode(text(stored, "/base64"))?)?;
                if is_kept {
                    kept.entry(group).or_default().push(last.clone());
                }
            }
        }
    }
    ensure!(!allocated.is_empty() && allocated == kept, "by group: allocated {allocated:?}, kept {kept:?}");
    Ok(last)
}

fn turns() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let digest = load(&daemon, "rotation", "one")?;
    ensure!(add_first(&daemon, "rotation", "p1")? == "a");
    for (pod, rack) in [("p2", "b"), ("p3", "a")] {
        ensure!(add(&daemon, "rotation", pod)? == rack, "{pod}");
    }
    let shown = daemon.ctl(&["policy", "state", "net"])?;
    ensure!(text(&shown, "/now/policy/sha256") == digest && number(&shown, "/now/bytes") == 1, "{shown}");
    ensure!(state(&daemon)? == (3, "a".to_owned()), "{:?}", state(&daemon)?);
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(state(&daemon)? == (3, "a".to_owned()), "after a kill: {:?}", state(&daemon)?);
    for (pod, rack) in [("p4", "b"), ("p4", "b"), ("p5", "a"), ("p6", "b")] {
        ensure!(add(&daemon, "rotation", pod)? == rack, "{pod}");
    }
    ensure!(check_groups(&daemon)? == "b");
    // A network that is removed is forgotten with its state.
    for pod in ["p1", "p2", "p3", "p4", "p5", "p6"] {
        daemon.shim()?.call("DEL", &Attachment::of(pod), &network("rotation"))?.silent()?;
    }
    ensure!(state(&daemon)? == (6, "b".to_owned()), "a release changes nothing");
    daemon.ctl(&["network", "remove", "net", "--apply"])?;
    ensure!(refused(&daemon, &["policy", "state", "net"])?.0 == "unknown-network");
    ensure!(add(&daemon, "rotation", "p7")? == "a");
    ensure!(state(&daemon)? == (1, "a".to_owned()), "{:?}", state(&daemon)?);
    Ok(())
}

fn exchanged() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    load(&daemon, "rotation", "one")?;
    ensure!(add_first(&daemon, "rotation", "p1")? == "a");
    let second = load(&daemon, "rotation", "two")?;
    let activate = ["policy", "activate", "net", &format!("rotation@{second}")];
    daemon.ctl(&activate)?;
    ensure!(state(&daemon)? == (2, "a".to_owned()), "{:?}", state(&daemon)?);
    let history = daemon.ctl(&["policy", "history", "net"])?;
    let reason = text(&history, "/steps/0/reason");
    ensure!(
        reason.starts_with("activated by an operator; with the state of rotation@")
            && reason.ends_with(", migrated"),
        "{history}"
    );
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(add(&daemon, "rotation", "p2")? == "b", "the state was taken over");

    // Under another name it takes over, but then rotation does not know whose state that is.
    let third = load(&daemon, "turns", "three")?;
    daemon.ctl(&["policy", "activate", "net", "turns"])?;
    ensure!(add(&daemon, "rotation", "p3")? == "a");
    let (code, cause) = refused(&daemon, &activate)?;
    ensure!(code == "state-not-migrated", "{code}: {cause}");
    let expected = "version 5 of policy turns@";
    ensure!(cause.contains(expected) && cause.contains("this is not the state of a rotation"), "{cause}");
    let (code, cause) = refused(&daemon, &["policy", "rollback", "net"])?;
    ensure!(code == "state-not-migrated", "an operator's roll-back, too: {code}: {cause}");
    let shown = daemon.ctl(&["policy", "state", "net"])?;
    ensure!(text(&shown, "/now/policy/sha256") == third && number(&shown, "/now/version") == 5, "{shown}");
    ensure!(add(&daemon, "rotation", "p4")? == "b", "the old one goes on");

    // A policy without a state leaves it as it is, for its writer to return to.
    daemon.ctl(&["policy", "activate", "net", "host-local"])?;
    add(&daemon, "rotation", "p5")?;
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(state(&daemon)? == (6, "b".to_owned()), "{:?}", state(&daemon)?);
    daemon.ctl(&["policy", "rollback", "net"])?;
    ensure!(state(&daemon)? == (6, "b".to_owned()), "{:?}", state(&daemon)?);
    ensure!(add(&daemon, "rotation", "p6")? == "a");

    let afresh = [&activate[..], &["--empty-state"]].concat();
    daemon.ctl(&afresh)?;
    ensure!(state(&daemon)? == (8, String::new()), "{:?}", state(&daemon)?);
    ensure!(add(&daemon, "rotation", "p7")? == "a");
    Ok(())
}

fn exported() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    load(&daemon, "rotation", "one")?;
    daemon.shim()?.call("ADD", &Attachment::of("p0"), &network("host-local"))?.address()?;
    let file = daemon.path("net.state");
    let path = file.display().to_string();
    let none = refused(&daemon, &["policy", "state", "net", "--export", &path])?;
    ensure!(none.0 == "state-not-kept" && !file.exists(), "{none:?}");
    fs::write(&file, "a")?;
    let stateless = refused(&daemon, &["policy", "state", "net", "--import", &path])?;
    ensure!(stateless.0 == "state-not-kept" && stateless.1.contains("host-local"), "{stateless:?}");

    daemon.ctl(&["policy", "activate", "net", "rotation", "--change-ranges"])?;
    ensure!(add(&daemon, "rotation", "p1")? == "a");
    let exported = daemon.ctl(&["policy", "state", "net", "--export", &path])?;
    ensure!(number(&exported, "/now/version") == 1 && fs::read(&file)? == b"a", "{exported}");
    ensure!(add(&daemon, "rotation", "p2")? == "b");
    let changed = refused(&daemon, &["policy", "state", "net", "--import", &path, "--if-version", "1"])?;
    ensure!(changed.0 == "state-changed", "{changed:?}");
    fs::write(&file, "b")?;
    let imported = daemon.ctl(&["policy", "state", "net", "--import", &path, "--if-version", "2"])?;
    ensure!(number(&imported, "/now/version") == 3, "{imported}");
    let again = refused(&daemon, &["policy", "state", "net", "--import", &path, "--if-version", "2"])?;
    ensure!(again.0 == "state-changed", "two operators: {again:?}");
    fs::write(&file, "a")?;
    daemon.ctl(&["policy", "state", "net", "--import", &path, "--reason", "rack b is next"])?;
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(add(&daemon, "rotation", "p3")? == "b", "a was the last rack, says the operator");
    let history = daemon.ctl(&["policy", "history", "net"])?;
    ensure!(text(&history, "/steps/0/kind") == "state-replaced", "{history}");
    ensure!(
        text(&history, "/steps/0/reason") == "by an operator: version 4, 1 B; rack b is next",
        "{history}"
    );

    fs::write(&file, vec![0; (16 << 10) + 1])?;
    let long = refused(&daemon, &["policy", "state", "net", "--import", &path])?;
    ensure!(long.0 == "state-not-kept" && long.1.contains("16384"), "{long:?}");
    for directory in ["--import", "--export"] {
        let folder = daemon.path("").display().to_string();
        let error = refused(&daemon, &["policy", "state", "net", directory, &folder])?;
        ensure!(error.0 == "input-output", "{error:?}");
    }
    ensure!(state(&daemon)? == (5, "b".to_owned()), "{:?}", state(&daemon)?);
    fs::write(&file, vec![b'c'; 16 << 10])?;
    daemon.ctl(&["policy", "state", "net", "--import", &path])?;
    ensure!(state(&daemon)?.1.len() == 16 << 10, "the longest");
    ensure!(add(&daemon, "rotation", "p4")? == "a", "the first rack after all of those");
    Ok(())
}

/// Pods come from several callers at once while the daemon is killed.
fn killed() -> anyhow::Result<()> {
    random::seeds("states")?.try_for_each(killed_by)
}

fn killed_by(seed: u64) -> anyhow::Result<()> {
    let mut random = Random::new(seed);
    let mut daemon = Daemon::start()?;
    load(&daemon, "rotation", "one")?;
    add_first(&daemon, "rotation", "first")?;
    let next = AtomicU32::new(0);
    for round in 0..6 {
        let pause = Duration::from_millis(20 + random.below(150));
        let pid = daemon.pid()?;
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    // The last ones fail: the daemon is gone.
                    while add(&daemon, "rotation", &format!("p{}", next.fetch_add(1, Ordering::Relaxed)))
                        .is_ok()
                    {}
                });
            }
            thread::sleep(pause);
            rustix::process::kill_process(pid, rustix::process::Signal::KILL)
        })?;
        daemon.ended()?;
        daemon.start_again()?;
        add(&daemon, "rotation", &format!("after-{round}"))?;
        let (_, now) = state(&daemon)?;
        let last = check_groups(&daemon)?;
        ensure!(now == last, "round {round}: the state is {now}, and the log ends with {last}");
        let allocations = daemon.allocations("net")?;
        let found = daemon.ctl(&["check"])?;
        let findings = found.pointer("/findings").and_then(Value::as_array).context("no findings")?;
        ensure!(findings.is_empty() && !allocations.is_empty(), "{found}");
    }
    Ok(())
}
