//! Repeated ADDs, and DELs that were meant for an earlier ADD: delayed DELs, and plugins that send milliseconds.

use std::process::ExitCode;

use anyhow::{Context, ensure};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tenure_e2e::plugin::Running;
use tenure_e2e::{Attachment, Daemon, Plugin, Suite};
use tenure_rpc::v1::Invocation;
use tenure_rpc::v1::cni_client::CniClient;
use tonic::transport::Channel;

/// How often a pod is added and deleted in one millisecond.
const ROUNDS: u64 = 20;

/// Nanoseconds in a millisecond.
const MILLISECOND: u64 = 1_000_000;

fn main() -> ExitCode {
    Suite::new()
        .test("a_del_that_was_held_up_does_not_end_a_repeated_add", &[], held_up)
        .test("a_del_that_was_held_up_and_spooled_does_not_end_a_repeated_add", &[], held_up_and_spooled)
        .test("a_repeated_add_is_remembered_over_a_crash", &[], remembered)
        .test("an_add_right_behind_its_del_is_served", &[], right_behind)
        .test("an_add_of_a_namespace_that_its_container_has_left_is_refused", &[], left_namespace)
        .test("a_plugin_that_says_milliseconds_is_understood", &[], milliseconds)
        .run()
}

fn config() -> Value {
    json!({
        "cniVersion": "1.1.0",
        "name": "pods",
        "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.74.0.0/16" }]] },
    })
}

/// Adds a pod, begins to delete it, and adds it again while that DEL is held up. Returns the address and the DEL.
fn repeated(shim: &Plugin) -> anyhow::Result<(String, Running)> {
    let pod = Attachment::of("pod");
    let address = shim.call("ADD", &pod, &config())?.address()?;
    let late = shim.begin("DEL", &pod)?;
    late.rests()?;
    let again = shim.call("ADD", &pod, &config())?.address()?;
    ensure!(again == address, "a repeated ADD was answered {again}, not {address}");
    Ok((address, late))
}

/// Checks that the pod keeps its address, and that no other pod gets it.
fn keeps(shim: &Plugin, address: &str) -> anyhow::Result<()> {
    shim.call("CHECK", &Attachment::of("pod"), &config())?.silent()?;
    let other = shim.call("ADD", &Attachment::of("other"), &config())?.address()?;
    ensure!(other != address, "{address} was assigned to a second pod");
    let again = shim.call("ADD", &Attachment::of("pod"), &config())?.address()?;
    ensure!(again == address, "the pod now has {again}, not {address}");
    Ok(())
}

fn held_up() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let (address, mut late) = repeated(&shim)?;
    late.send(config().to_string().as_bytes())?;
    late.finish()?.silent()?;
    keeps(&shim, &address)
}

fn held_up_and_spooled() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let (address, mut late) = repeated(&shim)?;
    daemon.kill()?;
    late.send(config().to_string().as_bytes())?;
    late.finish()?.silent()?;
    daemon.start_again()?;
    let spool = daemon.run_directory().join("spool");
    ensure!(std::fs::read_dir(spool)?.count() == 0, "the DEL was not replayed");
    keeps(&shim, &address)
}

fn remembered() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let (address, mut late) = repeated(&shim)?;
    daemon.kill()?;
    daemon.start_again()?;
    late.send(config().to_string().as_bytes())?;
    late.finish()?.silent()?;
    keeps(&shim, &address)
}

fn right_behind() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    asking(&daemon, async |cni, mut call| {
        // Everything below happens in this millisecond.
        let begun = call.started_at_boot_ms * MILLISECOND;
        for behind in 0..ROUNDS {
            call.started_at_boot_ns = begun + 2 * behind;
            call.started_at_boot_ms = call.started_at_boot_ns / MILLISECOND;
            cni.add(call.clone()).await.with_context(|| format!("ADD {behind} in one millisecond"))?;
            call.started_at_boot_ns += 1;
            cni.del(call.clone()).await?;
        }
        ensure!(daemon.allocations("pods")?.is_empty(), "a DEL freed nothing");
        Ok(())
    })
}

fn left_namespace() -> anyhow::Result<()> {
    const TRY_AGAIN: u32 = 11;
    let daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    let [left, lives] =
        ["left", "lives"].map(|name| Attachment::in_netns("pod", format!("/run/nowhere/{name}")));
    let mut late = shim.begin("ADD", &left)?;
    late.rests()?;
    let address = shim.call("ADD", &lives, &config())?.address()?;
    late.send(config().to_string().as_bytes())?;
    late.finish()?.error_code(TRY_AGAIN)?;
    let moved = Attachment::in_netns("pod", "/run/nowhere/moved");
    ensure!(
        shim.call("ADD", &moved, &config())?.address()? == address,
        "a container that moved got another address"
    );
    let held = daemon.allocations("pods")?;
    let netns = held.first().and_then(|held| held.get("netns")?.as_str());
    ensure!(netns == Some("/run/nowhere/moved"), "it is held for {netns:?}");
    Ok(())
}

fn milliseconds() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    asking(&daemon, async |cni, call| {
        cni.add(call.clone()).await?;
        ensure!(daemon.allocations("pods")?.len() == 1, "nothing is held");
        // The ADD that it ends began in the same millisecond.
        cni.del(call.clone()).await?;
        ensure!(daemon.allocations("pods")?.is_empty(), "its DEL freed nothing");
        let later = Invocation { started_at_boot_ms: call.started_at_boot_ms + 1, ..call };
        cni.add(later).await?;
        Ok(())
    })
}

/// Calls the daemon as a plugin that sends only milliseconds does, with a call that began just now.
fn asking(
    daemon: &Daemon,
    ask: impl AsyncFnOnce(&mut CniClient<Channel>, Invocation) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let channel = tenure_rpc::client::connect(&daemon.run_directory().join("cni.sock")).await?;
        let now = clock_gettime(ClockId::Boottime);
        let call = Invocation {
            container_id: "pod".to_owned(),
            netns: "/run/nowhere/pod".to_owned(),
            interface: "eth0".to_owned(),
            config: config().to_string().into_bytes(),
            started_at_boot_ms: u64::try_from(now.tv_sec * 1000 + now.tv_nsec / 1_000_000)?,
            ..Invocation::default()
        };
        ask(&mut CniClient::new(channel), call).await
    })
}
