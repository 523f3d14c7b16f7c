//! State that was lost, state of another IPAM plugin, and state that has leaked.

#[path = "state/imports.rs"]
mod imports;
#[path = "state/runtime.rs"]
mod runtime;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Need, Suite, wait};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The CNI code for "try again later".
const TRY_AGAIN: u32 = 11;
/// The CNI code for "an ADD would fail".
const UNAVAILABLE: u32 = 50;

const CONTAINERD: &[Need] =
    &[Need::Root, Need::PLUGINS, Need::IPROUTE, Need::UTIL_LINUX, Need::CONTAINERD, Need::RUNC];

fn main() -> ExitCode {
    Suite::new()
        .test("a_lost_state_is_served_only_after_the_operators_word", &[], lost_state)
        .test("a_node_that_never_had_a_state_needs_no_word", &[], never_a_state)
        .test("an_older_copy_of_the_state_is_not_taken_for_it", &[], older_copy)
        .test("a_state_that_lacks_its_end_is_lost_and_nothing_of_it_is_destroyed", &[], cut_state)
        .test(
            "the_state_of_another_boot_is_not_taken_for_this_ones",
            &[Need::Root, Need::UTIL_LINUX],
            other_boots,
        )
        .test("another_file_of_the_boots_id_ends_no_pod", &[], other_file)
        .test("the_right_state_is_served_again_when_it_is_put_back", &[], put_back)
        .test("what_a_start_finds_is_logged_and_counted", &[Need::Root, Need::UTIL_LINUX], what_a_start_finds)
        .test("host_locals_addresses_are_taken_over", &[Need::PLUGINS], imports::host_local)
        .test("ipamds_addresses_are_taken_over", &[], imports::ipamd)
        .test("addresses_are_taken_over_while_the_state_is_lost", &[], imports::while_lost)
        .test(
            "a_namespace_that_the_daemon_cannot_see_is_not_gone",
            &[Need::Root, Need::UTIL_LINUX],
            runtime::out_of_sight,
        )
        .test("a_container_runtime_tells_what_is_gone", CONTAINERD, || block_on(runtime::tells))
        .run()
}

/// The key is set while pods live, the file changes as a node in a container boots, and the key is removed.
fn other_file() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    shim.call("ADD", &Attachment::of("pod"), &config())?.result()?;
    let file = daemon.path("boot-id");
    let set = format!("[node]\nboot_id_file = \"{}\"\n", file.display());
    for (configured, id, pods) in [
        (set.as_str(), "a", 1),
        (set.as_str(), "a", 1),
        ("", "a", 1),
        (set.as_str(), "b", 1),
        (set.as_str(), "c", 0),
    ] {
        ensure!(daemon.stop()?.success(), "the stop is not clean");
        fs::write(&file, id)?;
        daemon.configure(configured)?;
        daemon.start_again()?;
        let found = daemon.allocations("pods")?.len();
        ensure!(found == pods, "{found} pods with {id} and {configured:?}");
    }
    Ok(())
}

fn block_on(test: impl AsyncFnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(test())
}

fn config() -> Value {
    config_with(json!({ "type": "tenure" }))
}

fn config_with(mut ipam: Value) -> Value {
    if let Some(ipam) = ipam.as_object_mut() {
        ipam.insert("ranges".to_owned(), json!([[{ "subnet": "10.81.0.0/24" }]]));
    }
    json!({ "cniVersion": "1.0.0", "name": "pods", "ipam": ipam })
}

/// Kills the daemon and deletes its state.
fn lose_state(daemon: &mut Daemon) -> anyhow::Result<()> {
    daemon.kill()?;
    Ok(fs::remove_dir_all(daemon.state_directory())?)
}

fn lost_state() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    shim.call("ADD", &Attachment::of("survivor"), &config())?.result()?;
    lose_state(&mut daemon)?;
    daemon.launch()?;
    for _ in 0..2 {
        shim.call("ADD", &Attachment::of("next"), &config())?.error_code(TRY_AGAIN)?;
        let status = json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure" } });
        shim.call("STATUS", &Attachment::of(""), &status)?.error_code(UNAVAILABLE)?;
        shim.call("DEL", &Attachment::of("survivor"), &config())?.silent()?;
        // A restart proves nothing.
        daemon.kill()?;
        daemon.launch()?;
    }
    let adopted = daemon.ctl(&["adopt", "--empty"])?;
    ensure!(adopted == json!({ "was_lost": true }), "{adopted}");
    shim.call("ADD", &Attachment::of("next"), &config())?.result()?;
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(daemon.allocations("pods")?.len() == 1, "the later allocation was lost");
    Ok(())
}

/// Copies the files of a directory to another, which is created anew.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// A daemon with metrics, which count what it finds at the start.
fn counting() -> anyhow::Result<Daemon> {
    let daemon = Daemon::prepare()?;
    daemon.configure(&format!("[metrics]\nlisten = \"{}\"\n", daemon.metrics_address()))?;
    Ok(daemon)
}

/// Checks that the daemon reports its state as lost and assigns no address.
fn is_lost(daemon: &Daemon, findings: &[&str]) -> anyhow::Result<()> {
    found(daemon, findings, "facts that were acknowledged in this boot are missing")?;
    ensure!(daemon.ctl_output(&["status"])?.status.code() == Some(1), "it reports that it is ready");
    daemon.shim()?.call("ADD", &Attachment::of("next"), &config())?.error_code(TRY_AGAIN)?;
    Ok(())
}

fn older_copy() -> anyhow::Result<()> {
    let mut daemon = counting()?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    shim.call("ADD", &Attachment::of("a"), &config())?.result()?;
    ensure!(daemon.stop()?.success(), "the stop is not clean");
    let (state, older) = (daemon.state_directory(), daemon.path("older"));
    copy(&state, &older)?;
    daemon.start_again()?;
    let of_b = shim.call("ADD", &Attachment::of("b"), &config())?.address()?;
    daemon.kill()?;
    let newer = daemon.path("newer");
    copy(&state, &newer)?;
    copy(&older, &state)?;
    for _ in 0..2 {
        daemon.launch()?;
        is_lost(&daemon, &["lost"])?;
        // A restart proves nothing.
        daemon.kill()?;
    }
    daemon.launch()?;
    daemon.ctl(&["adopt", "--empty"])?;
    let of_c = shim.call("ADD", &Attachment::of("c"), &config())?.address()?;
    ensure!(of_c == of_b, "the operator confirmed that b is not live: {of_c}, {of_b}");
    daemon.kill()?;
    daemon.start_again()?;
    daemon.kill()?;
    // A different state of the same length.
    copy(&newer, &state)?;
    daemon.launch()?;
    is_lost(&daemon, &["lost"])
}

fn cut_state() -> anyhow::Result<()> {
    for (bytes, findings) in [(1, &["lost", "torn-tail"][..]), (300, &["lost", "torn-tail"]), (0, &["lost"])]
    {
        let mut daemon = counting()?;
        daemon.start_again()?;
        let shim = daemon.shim()?;
        shim.call("ADD", &Attachment::of("a"), &config())?.result()?;
        let log = daemon.state_directory().join("log.0000000001");
        let before = fs::metadata(&log)?.len();
        shim.call("ADD", &Attachment::of("b"), &config())?.result()?;
        daemon.kill()?;
        let whole = fs::read(&log)?;
        let length = if bytes == 0 { before } else { fs::metadata(&log)?.len() - bytes };
        fs::File::options().write(true).open(&log)?.set_len(length)?;
        daemon.launch()?;
        is_lost(&daemon, findings)?;
        let evidence = daemon.state_directory().join(format!("quarantine.log.0000000001.{before}"));
        let kept = if bytes == 0 { Vec::new() } else { fs::read(evidence)? };
        let expected = whole.get(usize::try_from(before)?..usize::try_from(length)?);
        ensure!(Some(&kept[..]) == expected, "{} of the bytes that were cut off were kept", kept.len());
    }
    Ok(())
}

fn other_boots() -> anyhow::Result<()> {
    let mut daemon = counting()?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    for pod in ["a", "b", "c"] {
        shim.call("ADD", &Attachment::of(pod), &config())?.result()?;
    }
    ensure!(daemon.stop()?.success(), "the stop is not clean");
    let (state, older) = (daemon.state_directory(), daemon.path("older"));
    copy(&state, &older)?;
    daemon.reboot()?;
    daemon.start_again()?;
    shim.call("ADD", &Attachment::of("d"), &config())?.result()?;
    daemon.kill()?;
    copy(&older, &state)?;
    daemon.launch()?;
    is_lost(&daemon, &["lost", "new-boot"])
}

fn put_back() -> anyhow::Result<()> {
    let mut daemon = counting()?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    for pod in ["stays", "goes"] {
        shim.call("ADD", &Attachment::of(pod), &config())?.result()?;
    }
    daemon.kill()?;
    let (state, away) = (daemon.state_directory(), daemon.path("away"));
    fs::rename(&state, &away)?;
    shim.call("DEL", &Attachment::of("goes"), &config())?.silent()?;
    for _ in 0..2 {
        daemon.launch()?;
        shim.call("ADD", &Attachment::of("next"), &config())?.error_code(TRY_AGAIN)?;
        daemon.kill()?;
    }
    fs::remove_dir_all(&state)?;
    fs::rename(&away, &state)?;
    daemon.start_again()?;
    // The DEL was not replayed against the wrong state.
    let only = json!("stays");
    let told = |daemon: &Daemon| daemon.allocations("pods");
    wait::holds("the DEL to be done", LIMIT, || Ok(told(&daemon)?.len() == 1))?;
    ensure!(
        told(&daemon)?.first().and_then(|held| held.get("container_id")) == Some(&only),
        "the wrong allocation was freed"
    );
    shim.call("ADD", &Attachment::of("next"), &config())?.result()?;
    Ok(())
}

fn never_a_state() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    daemon.kill()?;
    daemon.start_again()?;
    lose_state(&mut daemon)?;
    daemon.start_again()?;
    daemon.shim()?.call("ADD", &Attachment::of("first"), &config())?.result()?;
    Ok(())
}

fn what_a_start_finds() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    daemon.configure(&format!("[metrics]\nlisten = \"{}\"\n", daemon.metrics_address()))?;
    daemon.start_again()?;
    found(&daemon, &["fresh"], "no state was found")?;
    daemon.shim()?.call("ADD", &Attachment::of("pod"), &config())?.result()?;

    daemon.kill()?;
    let state = daemon.state_directory();
    fs::File::options().append(true).open(state.join("log.0000000001"))?.write_all(b"0123abcd 3 ")?;
    fs::write(state.join("snapshot.0000000002.tmp"), "half")?;
    daemon.start_again()?;
    let words = "1 unfinished files were removed; 11 unacknowledged bytes were cut off";
    found(&daemon, &["torn-tail", "unfinished-file"], words)?;

    daemon.kill()?;
    daemon.start_again()?;
    found(&daemon, &["clean"], "recovered: 4 facts in ")?;

    daemon.kill()?;
    daemon.reboot()?;
    daemon.start_again()?;
    found(&daemon, &["new-boot"], "the machine rebooted, which ended 1 allocations")?;

    lose_state(&mut daemon)?;
    daemon.launch()?;
    found(&daemon, &["lost"], "the state was lost")
}

/// Checks the findings of the last start: its log contains these words, and its metrics count each of these names once.
fn found(daemon: &Daemon, names: &[&str], words: &str) -> anyhow::Result<()> {
    let log = daemon.log("recovered: ");
    let said = log.lines().last().context("nothing was recovered")?;
    ensure!(said.contains(words), "{said}; expected: {words}");
    let page = daemon.metrics()?;
    let samples = page.lines().filter_map(|line| line.strip_prefix("tenure_recovery_findings_total"));
    let counted: BTreeSet<String> = samples.map(str::to_owned).collect();
    let expected = names.iter().map(|name| format!("{{found=\"{name}\"}} 1")).collect();
    ensure!(counted == expected, "counted: {counted:?}, not {names:?}");
    Ok(())
}
