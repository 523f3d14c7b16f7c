//! Policies that are loaded into a running node, tried in the shadow, promoted, watched and rolled back.
//!
//! `TENURE_SEED=n` repeats a run's random choices.

#[path = "support/component.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod component;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use component::{build, digest};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Plugin, Suite, folder, wait};
use tenure_fixtures::random::{self, Random};

const POLICY_REFUSED: u32 = 104;

/// How long the daemon may take for something that it does by itself.
const SOON: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    Suite::new()
        .test("a_policy_is_loaded_tried_promoted_and_rolled_back", &[], whole_way)
        .test("a_loaded_policy_stays_after_a_crash_and_without_its_file", &[], stays)
        .test("a_policy_that_does_worse_is_rolled_back_by_itself", &[], rolled_back)
        .test("a_fault_that_was_there_before_rolls_nothing_back", &[], as_before)
        .test("a_kill_at_any_step_leaves_the_old_or_the_new_one", &[], killed)
        .test("only_signed_policies_are_loaded_where_keys_are_configured", &[], signed)
        .test("components_that_are_none_are_refused_with_a_cause", &[], broken)
        .test("the_end_of_a_watch_is_not_recorded_in_an_older_copy_of_the_state", &[], unconfirmed)
        .run()
}

/// A network whose configuration makes `canary-deny` refuse the pods that end with `-canary`.
fn network() -> Value {
    let ranges = json!([[{ "subnet": "10.85.0.0/16" }]]);
    let ipam = json!({ "type": "tenure", "ranges": ranges, "deny": { "podSuffix": "-canary" } });
    json!({ "cniVersion": "1.0.0", "name": "net", "type": "bridge", "ipam": ipam })
}

fn add(daemon: &Daemon, pod: &str) -> anyhow::Result<tenure_e2e::Outcome> {
    let arguments = format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={pod}");
    let shim: Plugin = daemon.shim()?.env("CNI_ARGS", arguments);
    shim.call("ADD", &Attachment::of(pod), &network())
}

fn history(daemon: &Daemon) -> anyhow::Result<Vec<String>> {
    let told = daemon.ctl(&["policy", "history", "net"])?;
    let steps = told.pointer("/steps").and_then(Value::as_array).context("no steps")?;
    let step = |step: &Value| format!("{} {}", text(step, "/kind"), text(step, "/policy/name"));
    Ok(steps.iter().map(step).collect())
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

fn serves(daemon: &Daemon) -> anyhow::Result<String> {
    Ok(text(&daemon.ctl(&["policy", "history", "net"])?, "/now/name"))
}

/// The error of a command that must fail.
fn refused(daemon: &Daemon, arguments: &[&str]) -> anyhow::Result<Value> {
    let output = daemon.ctl_output(arguments)?;
    ensure!(!output.status.success(), "{arguments:?} succeeded");
    let printed = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let line = String::from_utf8(printed)?;
    let error: Value = serde_json::from_str(line.trim()).with_context(|| line.clone())?;
    Ok(error.get("error").cloned().unwrap_or(error))
}

fn whole_way() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let canary = build("tenure-sdk/canary_deny", &daemon)?;
    let path = canary.display().to_string();
    add(&daemon, "web-0")?.address()?;
    let loaded = daemon.ctl(&["policy", "load", &path, "--name", "canary", "--sha256", &digest(&canary)?])?;
    ensure!(text(&loaded, "/policy/name") == "canary", "{loaded}");
    let inspected = daemon.ctl(&["policy", "inspect", "canary"])?;
    ensure!(text(&inspected, "/versions/0/source") == path, "{inspected}");

    daemon.ctl(&["policy", "shadow", "net", "canary", "--reason", "a trial"])?;
    let early = refused(&daemon, &["policy", "promote", "net"])?;
    ensure!(text(&early, "/code") == "shadow-inconclusive", "{early}");
    wait::holds("the shadow to follow", SOON, || {
        let report = daemon.ctl(&["policy", "shadow", "net"])?;
        Ok(number(&report, "/rehearsed") == 1 && text(&report, "/problem").is_empty())
    })?;
    for pod in (1..=20).map(|number| format!("web-{number}")).chain(["web-canary".to_owned()]) {
        add(&daemon, &pod)?.address()?;
    }
    let report = wait::until("every request to be compared", SOON, || {
        let report = daemon.ctl(&["policy", "shadow", "net"])?;
        let seen = ["same", "other_refusal", "skipped"].map(|key| number(&report, &format!("/{key}")));
        Ok((seen.iter().sum::<u64>() == 21).then_some(report))
    })?;
    let difference = report.pointer("/differences/0").cloned().unwrap_or_default();
    ensure!(
        number(&report, "/other_refusal") + number(&report, "/skipped") >= 1
            && number(&report, "/failed") == 0,
        "{report}"
    );
    ensure!(
        difference.is_null() || text(&difference, "/candidate").contains("refused on purpose"),
        "{difference}"
    );
    ensure!(serves(&daemon)? == "host-local", "a shadow serves nobody");

    daemon.ctl(&["policy", "promote", "net", "--now", "--reason", "no canaries"])?;
    let told = daemon.ctl(&["policy", "history", "net"])?;
    ensure!(text(&told, "/steps/0/reason").ends_with("; no canaries"), "{told}");
    ensure!(text(&told, "/steps/1/reason") == "begun by an operator: a trial", "{told}");
    add(&daemon, "one-canary")?.error_code(POLICY_REFUSED)?;
    let in_use = refused(&daemon, &["policy", "unload", "canary"])?;
    ensure!(text(&in_use, "/code") == "policy-in-use", "{in_use}");
    daemon.ctl(&["policy", "rollback", "net", "--reason", "canaries are wanted"])?;
    add(&daemon, "two-canary")?.address()?;
    ensure!(
        history(&daemon)?
            == ["chosen host-local", "chosen canary", "shadow-begun canary", "chosen host-local"],
        "{:?}",
        history(&daemon)?
    );
    daemon.ctl(&["policy", "unload", "canary"])?;
    let gone = refused(&daemon, &["policy", "activate", "net", "canary@0000"])?;
    ensure!(text(&gone, "/code") == "unknown-policy", "{gone}");
    Ok(())
}

fn stays() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let canary = build("tenure-sdk/canary_deny", &daemon)?;
    add(&daemon, "web-0")?.address()?;
    daemon.ctl(&["policy", "load", &canary.display().to_string(), "--name", "canary"])?;
    fs::remove_file(&canary)?;
    daemon.kill()?;
    daemon.start_again()?;
    daemon.ctl(&["policy", "activate", "net", "canary"])?;
    daemon.ctl(&["policy", "shadow", "net", "highest-first"])?;
    daemon.kill()?;
    daemon.start_again()?;
    add(&daemon, "one-canary")?.error_code(POLICY_REFUSED)?;
    let report = daemon.ctl(&["policy", "shadow", "net"])?;
    ensure!(text(&report, "/policy/name") == "highest-first", "the shadow run is forgotten: {report}");
    Ok(())
}

fn rolled_back() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let canary = build("tenure-sdk/canary_deny", &daemon)?;
    add(&daemon, "web-0")?.address()?;
    daemon.ctl(&["policy", "load", &canary.display().to_string(), "--name", "canary"])?;
    daemon.ctl(&["policy", "activate", "net", "canary"])?;
    for pod in ["a-canary", "b-canary", "c-canary"] {
        add(&daemon, pod)?.error_code(POLICY_REFUSED)?;
    }
    wait::holds("the roll-back", SOON, || Ok(serves(&daemon)? == "host-local"))?;
    add(&daemon, "a-canary")?.address()?;
    let told = daemon.ctl(&["policy", "history", "net"])?;
    ensure!(text(&told, "/steps/0/kind") == "rolled-back", "{told}");
    let reason = text(&told, "/steps/0/reason");
    ensure!(reason.contains("3 of 3 requests") && reason.contains("refused on purpose"), "{reason}");
    let status = daemon.ctl(&["status"])?;
    let conditions = status.pointer("/conditions").and_then(Value::as_array).context("no conditions")?;
    let rolled_back = conditions.iter().any(|wrong| text(wrong, "/name") == "policy-rolled-back");
    ensure!(rolled_back, "{status}");
    let log = daemon.ctl_output(&["log"])?;
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    ensure!(log.contains("\"by\":\"roll-back\""), "the journal does not name the roll-back: {log}");
    Ok(())
}

fn as_before() -> anyhow::Result<()> {
    let daemon = Daemon::start_with("[exchange]\nwatch_seconds = 5\n")?;
    let full = || {
        let mut network = network();
        if let Some(ranges) = network.pointer_mut("/ipam/ranges") {
            *ranges = json!([[{ "subnet": "10.86.0.0/30" }]]);
        }
        network
    };
    let shim = daemon.shim()?;
    shim.call("ADD", &Attachment::of("only"), &full())?.address()?;
    let canary = build("tenure-sdk/canary_deny", &daemon)?;
    daemon.ctl(&["policy", "load", &canary.display().to_string(), "--name", "canary"])?;
    daemon.ctl(&["policy", "activate", "net", "canary"])?;
    for number in 0..10 {
        shim.call("ADD", &Attachment::of(format!("more-{number}")), &full())?.error()?;
    }
    let end = wait::until("the watch to end", SOON, || {
        let told = daemon.ctl(&["policy", "history", "net"])?;
        Ok(["kept", "rolled-back"].contains(&text(&told, "/steps/0/kind").as_str()).then_some(told))
    })?;
    ensure!(text(&end, "/steps/0/kind") == "kept", "a pool that was full before is no reason: {end}");
    let reason = text(&end, "/steps/0/reason");
    ensure!(reason == "0 of 10 requests failed that the previous policy would have answered", "{reason}");
    ensure!(serves(&daemon)? == "canary", "{end}");
    Ok(())
}

/// Exchanges, loads and roll-backs in an endless loop, and kills in between.
fn killed() -> anyhow::Result<()> {
    random::seeds("exchanges")?.try_for_each(killed_by)
}

fn killed_by(seed: u64) -> anyhow::Result<()> {
    let mut random = Random::new(seed);
    let mut daemon = Daemon::start()?;
    let canary = build("tenure-sdk/canary_deny", &daemon)?.display().to_string();
    add(&daemon, "web-0")?.address()?;
    for round in 0..12 {
        let pause = Duration::from_millis(random.below(120));
        let verbs: [&[&str]; 5] = [
            &["policy", "load", &canary, "--name", "canary"],
            &["policy", "activate", "net", "canary"],
            &["policy", "rollback", "net"],
            &["policy", "shadow", "net", "highest-first"],
            &["policy", "unload", "canary"],
        ];
        thread::scope(|scope| {
            let (daemon, verbs) = (&daemon, &verbs);
            // Any of them may fail: the policy is not loaded yet, or the daemon is gone.
            scope.spawn(move || verbs.iter().for_each(|verb| drop(daemon.ctl_output(verb))));
            thread::sleep(pause);
            rustix::process::kill_process(daemon.pid()?, rustix::process::Signal::KILL)?;
            anyhow::Ok(())
        })?;
        daemon.ended()?;
        daemon.start_again()?;
        let now = serves(&daemon)?;
        ensure!(["host-local", "canary"].contains(&now.as_str()), "{now} serves");
        add(&daemon, &format!("round-{round}"))?.address().with_context(|| format!("served by {now}"))?;
        let found = daemon.ctl(&["check"])?;
        ensure!(found.pointer("/findings").and_then(Value::as_array).is_some_and(Vec::is_empty), "{found}");
    }
    Ok(())
}

/// A key pair, and a signature of a file beside it.
fn sign(file: &Path) -> anyhow::Result<String> {
    let pair = minisign::KeyPair::generate_unencrypted_keypair()?;
    let signature = minisign::sign(None, &pair.sk, fs::File::open(file)?, None, None)?;
    fs::write(file.with_added_extension("minisig"), signature.to_string())?;
    Ok(pair.pk.to_base64())
}

fn signed() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let canary = build("tenure-sdk/canary_deny", &daemon)?;
    let path = canary.display().to_string();
    let key = sign(&canary)?;
    daemon.configure(&format!("[signatures]\nkeys = [\"{key}\"]\n"))?;
    daemon.start_again()?;
    let other = daemon.path("other.wasm");
    fs::copy(&canary, &other)?;
    let unsigned = refused(&daemon, &["policy", "load", &other.display().to_string()])?;
    ensure!(text(&unsigned, "/code") == "policy-untrusted", "{unsigned}");
    sign(&other)?;
    let strange = refused(&daemon, &["policy", "load", &other.display().to_string()])?;
    ensure!(text(&strange, "/code") == "policy-untrusted", "{strange}");
    let loaded = daemon.ctl(&["policy", "load", &path, "--name", "canary"])?;
    ensure!(text(&loaded, "/signer") == key, "{loaded}");
    // The built-in policies are the program's own.
    add(&daemon, "web-0")?.address()?;
    daemon.ctl(&["policy", "activate", "net", "canary"])?;
    daemon.kill()?;
    daemon.start_again()?;
    add(&daemon, "web-1")?.address()?;
    // A key that is no longer trusted: what was signed with it is not loaded any more.
    daemon.kill()?;
    let another = sign(&other)?;
    daemon.configure(&format!("[signatures]\nkeys = [\"{another}\"]\n"))?;
    daemon.start_again()?;
    add(&daemon, "web-2")?.error()?;
    daemon.ctl(&["policy", "activate", "net", "host-local"])?;
    add(&daemon, "web-2")?.address()?;
    Ok(())
}

/// Files that an operator may load by mistake: refused, with a cause, and nothing is changed.
fn broken() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let good = fs::read(build("tenure-sdk/canary_deny", &daemon)?)?;
    let half = good.get(..good.len() / 2).context("too short")?;
    let file = |name: &str, bytes: &[u8]| -> anyhow::Result<String> {
        let path = daemon.path(name);
        fs::write(&path, bytes)?;
        Ok(path.display().to_string())
    };
    for (name, bytes) in [
        ("half.wasm", half),
        ("empty.wasm", b""),
        ("text.wasm", b"this is not wasm"),
        ("module.wasm", b"\0asm\x01\0\0\0"),
        ("component.wasm", b"\0asm\x0d\0\x01\0"),
    ] {
        let error = refused(&daemon, &["policy", "load", &file(name, bytes)?])?;
        ensure!(text(&error, "/code") == "policy-unloadable", "{name}: {error}");
        ensure!(!text(&error, "/cause").is_empty() && !text(&error, "/next_step").is_empty(), "{error}");
    }
    let path = file("good.wasm", &good)?;
    let error = refused(&daemon, &["policy", "load", &path, "--sha256", &"0".repeat(64)])?;
    ensure!(text(&error, "/cause").contains("was expected"), "{error}");
    let error = refused(&daemon, &["policy", "load", &daemon.path("missing.wasm").display().to_string()])?;
    ensure!(text(&error, "/cause").contains("missing.wasm"), "{error}");
    let policies = daemon.ctl(&["policy", "list"])?;
    let count = policies.pointer("/policies").and_then(Value::as_array).map(Vec::len);
    ensure!(count == Some(2), "something of it stayed: {policies}");
    Ok(())
}

/// The right state is recognised only if nothing was recorded in the one that was there meanwhile.
fn unconfirmed() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let exchange = "[exchange]\nwatch_seconds = 4\n";
    daemon.configure(&format!(
        "{exchange}[networks.spare.ipam]\nranges = [[{{ subnet = \"10.86.0.0/24\" }}]]\n"
    ))?;
    daemon.start_again()?;
    add(&daemon, "web-0")?.address()?;
    daemon.ctl(&["policy", "activate", "net", "highest-first"])?;
    daemon.kill()?;
    let (state, older, right) = (daemon.state_directory(), daemon.path("older"), daemon.path("right"));
    folder::copy(&state, &older)?;
    daemon.start_again()?;
    add(&daemon, "web-1")?.address()?;
    daemon.kill()?;
    fs::rename(&state, &right)?;
    fs::rename(&older, &state)?;
    // The configuration does not define the network of the copy any more.
    daemon.configure(exchange)?;
    daemon.launch()?;
    wait::holds("the loss to be seen", SOON, || {
        let status = daemon.ctl_output(&["status"])?;
        Ok(String::from_utf8_lossy(&status.stdout).contains("state-lost"))
    })?;
    thread::sleep(Duration::from_secs(8));
    daemon.kill()?;
    fs::remove_dir_all(&state)?;
    fs::rename(&right, &state)?;
    daemon.start_again()?;
    ensure!(daemon.allocations("net")?.len() == 2, "{:?}", daemon.allocations("net")?);
    wait::holds("the end of the watch", SOON, || {
        Ok(history(&daemon)?.first().is_some_and(|step| step.starts_with("kept ")))
    })
}
