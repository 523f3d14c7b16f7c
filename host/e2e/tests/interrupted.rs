//! Interrupted ADDs: an allocation that was never answered is answered on a retry, freed by a DEL, or found to have leaked.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use tenure_e2e::containerd::Containerd;
use tenure_e2e::plugin::Running;
use tenure_e2e::strace::{Fault, Tracer};
use tenure_e2e::{Attachment, Need, Suite, Victim, wait};

const STRACE: Need = Need::File("/usr/bin/strace", "strace");
const CONTAINERD: &[Need] =
    &[STRACE, Need::Root, Need::PLUGINS, Need::IPROUTE, Need::UTIL_LINUX, Need::CONTAINERD, Need::RUNC];

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The CNI code for "try again later".
const TRY_AGAIN: u32 = 11;

fn main() -> ExitCode {
    Suite::new()
        .test("an_add_whose_caller_is_gone_is_undone", &[STRACE], gone_caller)
        .test("an_add_cut_off_before_its_reply_is_answered_when_repeated", &[STRACE], || repeated(Cut::Reply))
        .test("an_add_cut_off_before_its_undo_is_answered_when_repeated", &[STRACE], || repeated(Cut::Undo))
        .test("an_add_cut_off_before_its_reply_ends_with_its_del", &[STRACE], || deleted(Cut::Reply))
        .test("an_add_cut_off_before_its_undo_ends_with_its_del", &[STRACE], || deleted(Cut::Undo))
        .test("an_add_cut_off_before_its_reply_ends_with_its_sandbox", CONTAINERD, || leaked(Cut::Reply))
        .test("an_add_cut_off_before_its_undo_ends_with_its_sandbox", CONTAINERD, || leaked(Cut::Undo))
        .test("a_leak_is_freed_by_a_daemon_that_restarts_in_a_loop", CONTAINERD, restarted_in_a_loop)
        .run()
}

/// The moment at which the daemon is killed.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// The allocation is durable, but not answered.
    Reply,
    /// The caller is gone, and the allocation is undone in memory only.
    Undo,
}

/// The pod under test, in a namespace that the daemon can see.
fn pod(victim: &Victim) -> anyhow::Result<Attachment> {
    let namespace = namespace(victim);
    fs::create_dir_all(victim.daemon.path("netns"))?;
    fs::write(&namespace, "")?;
    Ok(Attachment::in_netns("pod", namespace.display().to_string()))
}

fn namespace(victim: &Victim) -> PathBuf {
    victim.daemon.path("netns").join("pod")
}

fn config() -> Value {
    let ipam = json!({ "type": "tenure", "wait": 0, "ranges": [[{ "subnet": "10.94.0.0/24" }]] });
    json!({ "cniVersion": "1.1.0", "name": "net", "ipam": ipam })
}

/// A daemon that has served one pod, so that the next ADD is a single line of the log.
fn serving(config_text: &str) -> anyhow::Result<Victim> {
    let mut victim = Victim::new()?;
    victim.daemon.configure(config_text)?;
    victim.start()?;
    victim.shim()?.call("ADD", &Attachment::of("other"), &config())?.address()?;
    Ok(victim)
}

/// Begins the pod's ADD, with a fault injected into the daemon at the ADD's sync.
fn begin(victim: &Victim, effect: &'static str) -> anyhow::Result<(Running, Tracer)> {
    let fault = Fault { calls: "fdatasync", effect, at: 1 };
    let tracer = fault.attach(victim.pid()?, &victim.daemon.path("trace"))?;
    let add = victim.shim()?.start("ADD", &pod(victim)?, config().to_string().as_bytes())?;
    Ok((add, tracer))
}

/// Begins the pod's ADD, drops the caller during its sync, and waits until the ADD is undone in memory.
fn undone_in_memory(victim: &Victim) -> anyhow::Result<Tracer> {
    // The delay lasts until the tracer or the daemon ends.
    let (add, tracer) = begin(victim, "delay_enter=600000000")?;
    wait::holds("the ADD to be written", LIMIT, || {
        Ok(fs::read_to_string(victim.daemon.state_directory().join("log.0000000001"))?.contains("\"pod\""))
    })?;
    add.kill();
    wait::holds("the ADD to be undone", LIMIT, || Ok(!victim.daemon.log("undid an ADD").is_empty()))?;
    Ok(tracer)
}

fn gone_caller() -> anyhow::Result<()> {
    let victim = serving("")?;
    drop(undone_in_memory(&victim)?);
    wait::holds("the undo to be durable", LIMIT, || {
        let log = victim.daemon.ctl_output(&["log"])?.stdout;
        Ok(String::from_utf8(log)?.contains("\"reason\":\"undone\""))
    })?;
    ensure!(containers(&victim)? == ["other"], "the ADD kept an address");
    Ok(())
}

/// Leaves an unanswered allocation behind, and no daemon.
fn cut_off(victim: &mut Victim, cut: Cut) -> anyhow::Result<()> {
    match cut {
        Cut::Reply => {
            // The daemon stops when it returns from the sync, before it answers.
            let (add, tracer) = begin(victim, "signal=STOP")?;
            let trace = || fs::read_to_string(victim.daemon.path("trace"));
            wait::holds("the daemon to stop", LIMIT, || Ok(trace()?.contains("stopped by SIGSTOP")))?;
            ensure!(
                trace()?.lines().any(|line| line.contains("fdatasync") && line.ends_with("= 0")),
                "not synced"
            );
            kill_process(victim.pid()?, Signal::KILL)?;
            add.finish()?.error_code(TRY_AGAIN)?;
            drop(tracer);
        }
        Cut::Undo => {
            let _tracer = undone_in_memory(victim)?;
            kill_process(victim.pid()?, Signal::KILL)?;
        }
    }
    victim.ended()?;
    Ok(())
}

/// Restarts the daemon, and checks that the pod still has an address.
fn start_again(victim: &mut Victim) -> anyhow::Result<()> {
    victim.start()?;
    ensure!(containers(victim)? == ["other", "pod"], "nothing was left behind, so the test shows nothing");
    Ok(())
}

fn containers(victim: &Victim) -> anyhow::Result<Vec<String>> {
    let id = |held: &Value| held.get("container_id")?.as_str().map(str::to_owned);
    Ok(victim.daemon.allocations("net")?.iter().filter_map(id).collect())
}

fn repeated(cut: Cut) -> anyhow::Result<()> {
    let mut victim = serving("")?;
    cut_off(&mut victim, cut)?;
    start_again(&mut victim)?;
    let client = victim.client()?;
    let owners = victim.block_on(client.owners())?;
    let held = owners.iter().find(|(owner, _)| owner.container == "pod").context("no address")?.1;
    let (shim, pod) = (victim.shim()?, pod(&victim)?);
    let answered = shim.call("ADD", &pod, &config())?.address()?;
    ensure!(answered == *held, "the pod holds {held} but was answered {answered}");
    shim.call("CHECK", &pod, &config())?.silent()
}

fn deleted(cut: Cut) -> anyhow::Result<()> {
    let mut victim = serving("")?;
    cut_off(&mut victim, cut)?;
    // No daemon is running.
    victim.shim()?.call("DEL", &pod(&victim)?, &config())?.silent()?;
    victim.start()?;
    wait::holds("the DEL to be done", LIMIT, || Ok(containers(&victim)? == ["other"]))
}

/// No runtime retries or deletes anything; two sources confirm that the sandbox is gone.
fn leaked(cut: Cut) -> anyhow::Result<()> {
    let mut victim = serving("")?;
    cut_off(&mut victim, cut)?;
    fs::remove_file(namespace(&victim))?;
    let containerd = runtime(&victim)?;
    victim.daemon.configure(&with_grace(&containerd, 3600))?;
    start_again(&mut victim)?;
    let report = victim.daemon.ctl_output(&["check"])?;
    let report: Value = serde_json::from_slice(&report.stdout)?;
    let findings = report.get("findings").and_then(Value::as_array).context(report.to_string())?;
    let shown = findings.iter().any(|finding| {
        finding.get("kind") == Some(&json!("sandbox-gone"))
            && finding.get("subject") == Some(&json!("pod/eth0"))
    });
    ensure!(shown, "the check does not report it: {report}");
    victim.kill()?;
    victim.daemon.configure(&with_grace(&containerd, 1))?;
    victim.start()?;
    // The daemon cannot see the other pod's namespace, so that one is unknown.
    wait::holds("the leak to be freed", LIMIT, || Ok(containers(&victim)? == ["other"]))
}

/// A containerd that has never started a sandbox.
fn runtime(victim: &Victim) -> anyhow::Result<Containerd> {
    let network =
        json!({ "cniVersion": "0.4.0", "name": "net", "plugins": [{ "type": "bridge", "ipam": {} }] });
    Containerd::start(&victim.daemon.plugin_directory(&["tenure"])?, &network)
}

fn with_grace(containerd: &Containerd, seconds: u64) -> String {
    format!("[runtime]\nsocket = \"{}\"\ngrace_seconds = {seconds}\n", containerd.socket().display())
}

/// No life of the daemon is as long as the grace period, which goes on over them.
fn restarted_in_a_loop() -> anyhow::Result<()> {
    const GRACE: u64 = 300;
    let mut victim = serving("")?;
    cut_off(&mut victim, Cut::Reply)?;
    fs::remove_file(namespace(&victim))?;
    let containerd = runtime(&victim)?;
    victim.daemon.configure(&with_grace(&containerd, GRACE))?;
    let record = victim.daemon.run_directory().join("gone");
    let mut first = None;
    for _ in 0..2 {
        start_again(&mut victim)?;
        let entry = wait::until("the sandbox to be found gone", LIMIT, || {
            let text = fs::read_to_string(&record).unwrap_or_default();
            Ok(text.lines().nth(1).map(str::to_owned))
        })?;
        victim.kill()?;
        let since = first.get_or_insert_with(|| entry.clone());
        ensure!(*since == entry, "the grace period began again: {since}, then {entry}");
    }
    // The grace period ends without a test that takes as long: it began earlier.
    let entry = first.context("never gone")?;
    let (key, since) = entry.rsplit_once(' ').context("a malformed entry")?;
    let earlier = since.parse::<u64>()?.saturating_sub(GRACE * 1_000_000_000);
    let text = fs::read_to_string(&record)?.replace(&entry, &format!("{key} {earlier}"));
    fs::write(&record, text)?;
    victim.start()?;
    wait::holds("the leak to be freed", LIMIT, || Ok(containers(&victim)? == ["other"]))
}
