//! No network stalls another: policies that spin and components that compile for minutes, next to networks that must keep working.
//!
//! Spinning and compiling take minutes here, so that the tests do not depend on the machine's speed: everything else must
//! make progress meanwhile.

#[path = "support/component.rs"]
mod component;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_e2e::client::{Client, Failure};
use tenure_e2e::journal::Pod;
use tenure_e2e::{Attachment, Daemon, Suite, bomb, wait};
use tokio::task::JoinHandle;

const OVERLOADED: u32 = 11;
const TRY_LATER: u32 = 11;
const POLICY_FAILED: u32 = 105;
const UNKNOWN_POLICY: u32 = 107;
const UNLOADABLE: u32 = 108;
const TOO_MANY_NETWORKS: u32 = 113;

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// A spinning policy may run for ten minutes, and its callers wait; a stopping daemon does not wait for it.
const SPIN: Duration = Duration::from_secs(600);
const FOR_EVER: &str = "[sandbox]\ndeadline_ms = 600000\ncompile_seconds = 600\n";
const SPINNING_NETWORKS: usize = 6;
const CALLERS: usize = 24;
/// The number of ADDs on another network that must be answered meanwhile.
const ADDS: usize = 200;

fn main() -> ExitCode {
    Suite::new()
        .test("a_policy_that_spins_takes_nothing_from_other_networks", &[], spinners)
        .test("a_component_that_compiles_for_ever_takes_nothing_from_other_networks", &[], bombs)
        .test("a_component_that_compiles_too_long_is_given_up_and_remembered", &[], given_up)
        .test("a_node_is_ready_while_a_policy_of_its_configuration_compiles", &[], ready_beside_a_bomb)
        .test("a_policy_that_keeps_failing_is_benched", &[], benched)
        .test("the_waiting_of_one_network_fill_no_other_networks_queue", &[], queues)
        .test("a_caller_that_goes_away_leaves_room_for_the_next", &[], gone)
        .test("a_policy_in_a_fifo_or_of_gigabytes_is_refused_unread", &[], no_files)
        .test("networks_are_bounded_and_those_that_never_were_leave_nothing", &[], networks_bounded)
        .run()
}

/// A network whose policy spins.
fn spinning(network: &str) -> Value {
    let mut config = config(network, "hostile");
    if let Some(ipam) = config.pointer_mut("/ipam").and_then(Value::as_object_mut) {
        ipam.insert("misbehave".to_owned(), json!("spin"));
    }
    config
}

fn config(network: &str, policy: &str) -> Value {
    json!({
        "cniVersion": "1.1.0",
        "name": network,
        "ipam": { "type": "tenure", "policy": policy, "ranges": [[{ "subnet": "10.82.0.0/16" }]] },
    })
}

fn pod(network: &str, container: impl Into<String>) -> Pod {
    Pod { network: network.to_owned(), container: container.into() }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

/// A daemon with the hostile policy, ready, and with all policies loaded.
fn hostile(settings: &str) -> anyhow::Result<Daemon> {
    let mut daemon = Daemon::prepare()?;
    let hostile = component::build("tenure-hostile", &daemon)?;
    daemon.configure(&format!("{settings}{}", component::entry("hostile", &hostile)?))?;
    daemon.start_again()?;
    Ok(daemon)
}

/// A daemon whose configuration names a component that compiles for minutes, and that has begun to compile it.
fn bombed(settings: &str) -> anyhow::Result<Daemon> {
    let mut daemon = Daemon::prepare()?;
    let path = daemon.path("bomb.wasm");
    std::fs::write(&path, wat::parse_str(bomb::component(2000))?)?;
    daemon.configure(&format!("{settings}{}", component::entry("bomb", &path)?))?;
    daemon.launch()?;
    let seconds = LIMIT.as_secs().to_string();
    daemon.ctl(&["status", "--wait", &seconds])?;
    Ok(daemon)
}

type Calls = Vec<JoinHandle<Result<String, Failure>>>;

/// Starts concurrent ADDs on several networks without waiting for them. None ends by itself, however busy the machine is.
fn call(client: &Client, networks: usize, callers: usize, config: impl Fn(&str) -> Value) -> Calls {
    let client = client.clone().with_limit(SPIN);
    let calls = (0..callers).map(|caller| {
        let network = format!("stalled-{}", caller % networks);
        let (client, config) = (client.clone(), config(&network));
        let pod = pod(&network, format!("caller-{caller}"));
        tokio::spawn(async move { client.add(&pod, &config).await })
    });
    calls.collect()
}

fn load(daemon: &Daemon) -> anyhow::Result<(u64, u64)> {
    let status = daemon.ctl(&["status"])?;
    let count = |name: &str| status.get(name).and_then(Value::as_u64).with_context(|| format!("no {name}"));
    Ok((count("in_flight")?, count("queued")?))
}

fn spinners() -> anyhow::Result<()> {
    let mut daemon = hostile(&format!("[limits]\ndrain_seconds = 1\n{FOR_EVER}"))?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let client = Client::connect(&daemon.run_directory()).await?;
        let calls = call(&client, SPINNING_NETWORKS, CALLERS, spinning);
        wait::holds("the spinning calls", LIMIT, || {
            Ok(load(&daemon)? == (SPINNING_NETWORKS as u64, (CALLERS - SPINNING_NETWORKS) as u64))
        })?;
        for number in 0..ADDS {
            client.add(&pod("beside", format!("c{number}")), &config("beside", "host-local")).await?;
        }
        // Make the log long enough for a snapshot, which includes the spinning networks.
        let snapshots =
            || anyhow::Ok(names(&daemon)?.iter().filter(|name| name.starts_with("snapshot.")).count());
        for number in 0.. {
            if snapshots()? > 0 {
                break;
            }
            ensure!(number < 1000, "no snapshot was taken");
            let mut config = config("long", "host-local");
            config.as_object_mut().context("no object")?.insert("padding".into(), json!("x".repeat(256)));
            let padding = format!("{number}{}", "x".repeat(256 << 10));
            let ipam = config.pointer_mut("/ipam").and_then(Value::as_object_mut).context("no ipam")?;
            ipam.insert("padding".into(), json!(padding));
            client.add(&pod("long", format!("c{number}")), &config).await?;
        }
        client.del(&pod("beside", "c1")).await?;
        client.del(&pod("nobodys", "c1")).await?;
        for arguments in [&["check"][..], &["networks"], &["allocations"], &["policy", "list"]] {
            daemon.ctl(arguments)?;
        }
        let answered = calls.iter().filter(|call| call.is_finished()).count();
        ensure!(answered == 0, "{answered} of the spinning calls were answered meanwhile");
        anyhow::Ok(())
    })?;
    let status = daemon.stop()?;
    ensure!(status.success(), "{status}");
    Ok(())
}

fn names(daemon: &Daemon) -> anyhow::Result<Vec<String>> {
    let names = std::fs::read_dir(daemon.state_directory())?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: anyhow::Result<Vec<String>> = names.collect();
    Ok(names?.into_iter().filter(|name| !name.ends_with(".tmp")).collect())
}

/// Whether the catalogue reports that a policy is still being compiled.
fn is_loading(daemon: &Daemon, policy: &str) -> anyhow::Result<bool> {
    let list = daemon.ctl(&["policy", "list"])?;
    let policies = list.get("policies").and_then(Value::as_array).context("no policies")?;
    let line = policies.iter().find(|line| line.pointer("/policy/name") == Some(&json!(policy)));
    Ok(line.context("not in the catalogue")?.get("loading") == Some(&json!(true)))
}

/// The process IDs of the daemon's compilers.
fn compilers(daemon: &Daemon) -> anyhow::Result<Vec<u32>> {
    let mut compilers = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        if parent.and_then(|parent| parent.trim().parse().ok()) == Some(daemon.pid()?.as_raw_nonzero().get())
        {
            compilers.push(process);
        }
    }
    Ok(compilers)
}

fn bombs() -> anyhow::Result<()> {
    let mut daemon = bombed(FOR_EVER)?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let client = Client::connect(&daemon.run_directory()).await?;
        for number in 0..ADDS {
            if number % 10 == 0 {
                for call in
                    call(&client, SPINNING_NETWORKS, SPINNING_NETWORKS, |network| config(network, "bomb"))
                {
                    match call.await? {
                        Err(Failure::Refused { code: TRY_LATER, cause }) => {
                            ensure!(cause.contains("policy bomb@") && cause.contains("compiled"), "{cause}");
                        }
                        other => anyhow::bail!("an ADD with a policy that is being compiled: {other:?}"),
                    }
                }
            }
            client.add(&pod("beside", format!("c{number}")), &config("beside", "host-local")).await?;
        }
        client.del(&pod("beside", "c1")).await?;
        client.del(&pod("stalled-0", "caller-0")).await?;
        anyhow::Ok(())
    })?;
    ensure!(is_loading(&daemon, "bomb")?, "the compilation has already ended");
    let compilers = compilers(&daemon)?;
    ensure!(compilers.len() == 1, "each ADD starts a compiler: {compilers:?}");
    for compiler in &compilers {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{compiler}/{file}"));
        ensure!(read("oom_score_adj")?.trim() == "800", "the kernel would kill other processes first");
        let stat = read("stat")?;
        let nice = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(16));
        ensure!(nice == Some("10"), "its priority is {nice:?}");
        ensure!(std::fs::read(format!("/proc/{compiler}/environ"))?.is_empty(), "it has an environment");
        for file in std::fs::read_dir(format!("/proc/{compiler}/fd"))? {
            let file = std::fs::read_link(file?.path()).unwrap_or_default();
            let is_ours = file.starts_with(daemon.path("")) || file.to_string_lossy().starts_with("socket:");
            ensure!(!is_ours, "it inherited a descriptor from the daemon: {}", file.display());
        }
    }
    let status = daemon.stop()?;
    ensure!(status.success(), "{status}");
    for compiler in compilers {
        let gone = || Ok(!std::path::Path::new(&format!("/proc/{compiler}")).exists());
        wait::holds("the compiler to exit with its daemon", LIMIT, gone)?;
    }
    Ok(())
}

fn given_up() -> anyhow::Result<()> {
    let daemon = bombed("[sandbox]\ncompile_seconds = 8\n")?;
    let shim = daemon.shim()?;
    wait::holds("the compiler to be killed", LIMIT, || Ok(!is_loading(&daemon, "bomb")?))?;
    let outcome = shim.call("ADD", &Attachment::of("pod"), &config("stalled", "bomb"))?;
    let error = outcome.error_code(UNLOADABLE)?;
    ensure!(
        error.msg.contains("more than 8 s to compile") && error.msg.contains("policy bomb@"),
        "{error:?}"
    );
    shim.call("ADD", &Attachment::of("pod"), &config("beside", "host-local"))?.address()?;
    let output = daemon.ctl_output(&["policy", "activate", "beside", "bomb"])?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success() && told.contains("to compile"), "{told}");
    Ok(())
}

/// A policy that served before a restart is loaded after it, even if the configuration names others.
fn ready_beside_a_bomb() -> anyhow::Result<()> {
    let mut daemon = bombed(FOR_EVER)?;
    let shim = daemon.shim()?;
    wait::holds("another policy to be loaded", LIMIT, || Ok(!is_loading(&daemon, "highest-first")?))?;
    shim.call("ADD", &Attachment::of("before"), &config("net", "highest-first"))?.address()?;
    daemon.kill()?;
    daemon.launch()?;
    daemon.ctl(&["status", "--wait", &LIMIT.as_secs().to_string()])?;
    shim.call("ADD", &Attachment::of("after"), &config("net", "highest-first"))?.address()?;
    shim.call("ADD", &Attachment::of("new"), &config("new", "host-local"))?.address()?;
    ensure!(is_loading(&daemon, "bomb")?, "the compilation has already ended");
    Ok(())
}

fn benched() -> anyhow::Result<()> {
    let daemon = hostile("[sandbox]\ndeadline_ms = 10\n")?;
    let shim = daemon.shim()?;
    let mut refusals = 0;
    let refusal = wait::until("the policy to be benched", LIMIT, || {
        refusals += 1;
        let pod = Attachment::of(format!("c{refusals}"));
        let outcome = shim.call("ADD", &pod, &spinning("stalled"))?;
        let error = outcome.error()?;
        ensure!(error.code == POLICY_FAILED || error.code == TRY_LATER, "{error:?}");
        Ok((error.code == TRY_LATER).then(|| error.msg.clone()))
    })?;
    ensure!(refusals > 5, "benched after {refusals} calls");
    ensure!(refusal.contains("policy hostile@") && refusal.contains("10 ms"), "{refusal}");
    let told = || {
        let status = daemon.ctl(&["status"])?;
        Ok(status.to_string().contains("keeps failing on network stalled"))
    };
    wait::holds("the status to report it", LIMIT, told)?;
    // The same policy still serves another network, and serves this one as soon as it behaves.
    shim.call("ADD", &Attachment::of("pod"), &config("beside", "hostile"))?.address()?;
    wait::until("the bench to end", LIMIT, || {
        let outcome = shim.call("ADD", &Attachment::of("well"), &config("stalled", "hostile"))?;
        Ok(outcome.address().ok())
    })?;
    Ok(())
}

fn queues() -> anyhow::Result<()> {
    const QUEUE: u64 = 32;
    let daemon =
        hostile(&format!("[limits]\nin_flight = 4\nqueue = {QUEUE}\ndrain_seconds = 1\n{FOR_EVER}"))?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let client = Client::connect(&daemon.run_directory()).await?;
        let calls = call(&client, 1, 100, spinning);
        wait::holds("the queue to be full", LIMIT, || {
            Ok(load(&daemon)?.1 >= QUEUE / 2 && calls.iter().any(JoinHandle::is_finished))
        })?;
        for number in 0..ADDS {
            client.add(&pod("beside", format!("c{number}")), &config("beside", "host-local")).await?;
        }
        for call in calls.into_iter().filter(JoinHandle::is_finished) {
            match call.await? {
                Err(Failure::Refused { code: OVERLOADED, cause }) => {
                    ensure!(cause.contains("for network stalled-0"), "{cause}");
                }
                other => anyhow::bail!("a spinning call was answered: {other:?}"),
            }
        }
        anyhow::Ok(())
    })
}

/// As many callers as there are slots, each gone before its policy answers: no slot and no thread leaks.
fn gone() -> anyhow::Result<()> {
    let daemon = hostile(&format!(
        "[limits]\nin_flight = 2\n[sandbox]\nconcurrency = 2\n{}",
        &FOR_EVER["[sandbox]\n".len()..]
    ))?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let client = Client::connect(&daemon.run_directory()).await?;
        for _ in 0..4 {
            let calls = call(&client, 1, 1, spinning);
            wait::holds("the call to spin", LIMIT, || Ok(load(&daemon)?.0 == 1))?;
            calls.iter().for_each(JoinHandle::abort);
            wait::holds("the slot to be free", LIMIT, || Ok(load(&daemon)? == (0, 0)))?;
        }
        // The same policy answers again, even with its only thread.
        client.add(&pod("beside", "c1"), &config("beside", "hostile")).await?;
        anyhow::Ok(())
    })
}

fn no_files() -> anyhow::Result<()> {
    const MEMORY: u64 = 256 << 10;
    let mut daemon = Daemon::prepare()?;
    let (fifo, sparse) = (daemon.path("fifo"), daemon.path("sparse"));
    let made = std::process::Command::new("mkfifo").arg(&fifo).status()?;
    ensure!(made.success(), "mkfifo: {made}");
    std::fs::File::create(&sparse)?.set_len(3 << 30)?;
    let digest = "0".repeat(64);
    let entries =
        [("fifo", &fifo), ("sparse", &sparse)].map(|(name, path)| component::entry_with(name, path, &digest));
    daemon.configure(&entries.concat())?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    for (policy, cause) in [("fifo", "not a regular file"), ("sparse", "3072 MiB")] {
        let outcome = shim.call("ADD", &Attachment::of("pod"), &config(policy, policy))?;
        let error = outcome.error_code(UNLOADABLE)?;
        ensure!(error.msg.contains(cause), "{error:?}");
        shim.call("ADD", &Attachment::of(policy), &config("beside", "host-local"))?.address()?;
    }
    let peak = daemon.peak_rss()?;
    ensure!(peak < MEMORY, "the daemon's peak memory was {peak} KiB");
    daemon.signal(Signal::TERM)?;
    ensure!(daemon.ended()?.success(), "the daemon did not exit cleanly");
    Ok(())
}

fn networks_bounded() -> anyhow::Result<()> {
    let daemon = Daemon::start_with("[limits]\nnetworks = 3\n")?;
    let shim = daemon.shim()?;
    let add =
        |network: &str, policy: &str| shim.call("ADD", &Attachment::of("pod"), &config(network, policy));
    for number in 0..10 {
        // Each is refused because its policy is unknown, so none of them becomes a network.
        add(&format!("never-{number}"), "nobodys")?.error_code(UNKNOWN_POLICY)?;
    }
    for number in 0..3 {
        add(&format!("net-{number}"), "host-local")?.address()?;
    }
    let refused = add("one-more", "host-local")?;
    let error = refused.error_code(TOO_MANY_NETWORKS)?;
    ensure!(error.msg.contains("cannot create network one-more: the limit is 3 networks"), "{error:?}");
    ensure!(daemon.networks()?.len() == 3, "{:?}", daemon.networks()?);
    shim.call("ADD", &Attachment::of("another"), &config("net-1", "host-local"))?.address()?;
    Ok(())
}
