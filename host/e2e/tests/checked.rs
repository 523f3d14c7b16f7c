//! The output of `tenurectl check`, `tenurectl networks` and STATUS on a node, and whether it is true.

#[path = "agents/agent.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod agent;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use agent::{Agent, claim};
use anyhow::{Context, anyhow, ensure};
use serde_json::{Value, json};
use tenure_e2e::client::Client;
use tenure_e2e::journal::Pod;
use tenure_e2e::{Attachment, Daemon, Need, Suite, wait};
use tenure_types::ErrorCode;

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The CNI code for "an ADD would fail".
const UNAVAILABLE: u32 = 50;

fn main() -> ExitCode {
    Suite::new()
        .test("a_check_of_a_busy_node_finds_nothing", &[], busy)
        .test("a_check_after_a_reboot_with_a_claim_finds_nothing", &[Need::Root], rebooted)
        .test("however_much_there_is_to_say_it_is_said", &[], much)
        .test("status_names_each_lasting_reason_for_which_an_add_fails", &[], lasting)
        .run()
}

fn config_of(name: &str, subnet: &str) -> Value {
    json!({ "cniVersion": "1.1.0", "name": name, "ipam": { "type": "tenure", "ranges": [[{ "subnet": subnet }]] } })
}

/// The findings of a check.
fn findings(daemon: &Daemon) -> anyhow::Result<Vec<Value>> {
    let report: Value = serde_json::from_slice(&daemon.ctl_output(&["check"])?.stdout)?;
    Ok(report.get("findings").and_then(Value::as_array).context("no findings")?.clone())
}

/// Adds and deletes pods until `stop` is true. Returns how many.
async fn come_and_go(
    client: Client,
    worker: usize,
    stop: Arc<AtomicBool>,
    begun: Arc<AtomicU64>,
) -> anyhow::Result<()> {
    let config = config_of("pods", "10.93.0.0/16");
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        let pod = Pod { network: "pods".to_owned(), container: format!("pod-{worker}-{number}") };
        client.add(&pod, &config).await?;
        // Repeated by its caller, as after a restart of the runtime.
        client.add(&pod, &config).await?;
        client.del(&pod).await?;
        begun.fetch_add(1, Ordering::Relaxed);
        number += 1;
    }
    Ok(())
}

fn busy() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let (stop, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let client = runtime.block_on(Client::connect(&daemon.run_directory()))?;
    let workers: Vec<_> = (0..16)
        .map(|worker| {
            runtime.spawn(come_and_go(client.clone(), worker, Arc::clone(&stop), Arc::clone(&begun)))
        })
        .collect();
    let mut wrong = Vec::new();
    for _ in 0..60 {
        let before = begun.load(Ordering::Relaxed);
        wait::holds("the load", LIMIT, || Ok(begun.load(Ordering::Relaxed) > before))?;
        wrong.extend(findings(&daemon)?);
    }
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        runtime.block_on(worker)??;
    }
    ensure!(wrong.is_empty(), "{} findings, such as {}", wrong.len(), wrong.first().unwrap_or(&Value::Null));
    Ok(())
}

fn rebooted() -> anyhow::Result<()> {
    let uid = rustix::process::geteuid().as_raw();
    let mut daemon = Daemon::start_with(&format!("[agents.cilium]\nuid = {uid}\nnetworks = [\"pods\"]\n"))?;
    let config = config_of("pods", "10.93.0.0/16");
    daemon.shim()?.call("ADD", &Attachment::of("pod"), &config)?.result()?;
    let agent = Agent::at(&daemon.run_directory());
    wait::holds("the agents' socket", LIMIT, || {
        Ok(agent.lists()?.map_or_else(|error| error.code != ErrorCode::Unreachable, |_| true))
    })?;
    agent.ensures(claim("router"))??;
    for _ in 0..2 {
        daemon.kill()?;
        daemon.reboot()?;
        daemon.start_again()?;
        ensure!(findings(&daemon)?.is_empty(), "after a reboot: {:?}", findings(&daemon)?);
    }
    Ok(())
}

fn much() -> anyhow::Result<()> {
    const NETWORKS: usize = 1200;
    let daemon = Daemon::start()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::connect(&daemon.run_directory()).await?;
        for number in 0..NETWORKS {
            let network = format!("a-network-with-a-rather-long-name-{number}");
            let config = config_of(&network, "10.94.0.0/16");
            client
                .add(&Pod { network, container: "pod".to_owned() }, &config)
                .await
                .map_err(|error| anyhow!(error))?;
        }
        anyhow::Ok(())
    })?;
    ensure!(daemon.networks()?.len() == NETWORKS, "not all networks are listed");
    let report = daemon.ctl(&["check"])?;
    let count = |key: &str| report.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    ensure!(count("findings") == 0 && count("notes") > 0, "{} findings", count("findings"));
    Ok(())
}

fn lasting() -> anyhow::Result<()> {
    let daemon = Daemon::start_with("[limits]\nnetworks = 2\n")?;
    let shim = daemon.shim()?;
    // Each is refused by an ADD, too.
    let told = |config: &Value, words: &str| -> anyhow::Result<()> {
        shim.call("ADD", &Attachment::of("new"), config)?.error()?;
        let error = shim.call("STATUS", &Attachment::of(""), config)?.error_code(UNAVAILABLE)?;
        ensure!(format!("{} {}", error.msg, error.details).contains(words), "{error:?}, not {words}");
        Ok(())
    };
    let small = config_of("small", "10.95.0.0/30");
    shim.call("ADD", &Attachment::of("only"), &small)?.result()?;
    told(&small, "exhausted")?;
    // Another configuration that has no other address either.
    let mut same = small.clone();
    *same.pointer_mut("/ipam/ranges/0/0").context("no range")? =
        json!({ "subnet": "10.95.0.0/30", "gateway": "10.95.0.1" });
    told(&same, "exhausted")?;

    let wide = config_of("wide", "10.96.0.0/16");
    shim.call("ADD", &Attachment::of("pod"), &wide)?.result()?;
    told(&config_of("third", "10.97.0.0/16"), "limit is 2 networks")?;
    daemon.configure("[limits]\nnetworks = 2\n[networks.wide]\nwithin = [\"10.99.0.0/16\"]\n")?;
    daemon.ctl(&["reload"])?;
    told(&wide, "10.99.0.0/16")?;
    Ok(())
}
