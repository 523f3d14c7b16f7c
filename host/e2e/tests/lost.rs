//! Answers while the state is away, and what becomes of it once it is back.

#[path = "agents/agent.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod agent;
#[path = "peers/kubelet.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod kubelet;

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use agent::{Agent, claim, next};
use anyhow::{Context, ensure};
use kubelet::Runtime;
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Suite, wait};
use tenure_types::{Error, ErrorCode};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The CNI code for "try again later".
const TRY_AGAIN: u32 = 11;

fn main() -> ExitCode {
    Suite::new()
        .test("what_was_ended_while_the_state_was_away_is_ended_when_it_is_back", &[], ended_meanwhile)
        .test("a_del_while_the_state_was_away_frees_no_later_owner", &[], later_owner)
        .test("an_older_state_answers_no_pod", &[], older_state)
        .test("what_says_that_the_state_is_lost_is_written_again", &[], mark_deleted)
        .test("a_lost_state_costs_an_agent_no_address", &[], agents_address)
        .test("claims_that_are_lost_with_the_state_take_an_operators_word", &[], operators_word)
        .test("what_an_agent_is_told_while_the_state_is_away_is_to_wait", &[], agents_wait)
        .run()
}

fn config() -> Value {
    json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.91.0.0/28" }]] } })
}

/// A GC that lists these containers as valid.
fn gc(valid: &[&str]) -> Value {
    let valid: Vec<_> = valid.iter().map(|id| json!({ "containerID": id, "ifname": "eth0" })).collect();
    let mut config = config();
    if let Some(config) = config.as_object_mut() {
        config.insert("cni.dev/valid-attachments".to_owned(), json!(valid));
    }
    config
}

/// The containers that have addresses, in order.
fn containers(daemon: &Daemon) -> anyhow::Result<Vec<String>> {
    let id = |held: &Value| Some(held.get("container_id")?.as_str()?.to_owned());
    let mut containers: Vec<_> = daemon.allocations("pods")?.iter().filter_map(id).collect();
    containers.sort();
    Ok(containers)
}

/// Moves the state directory away; returns how to put it back.
fn moved_away(daemon: &Daemon) -> anyhow::Result<impl Fn() -> anyhow::Result<()> + use<>> {
    let (state, away) = (daemon.state_directory(), daemon.path("away"));
    fs::rename(&state, &away)?;
    Ok(move || {
        fs::remove_dir_all(&state)?;
        Ok(fs::rename(&away, &state)?)
    })
}

fn ended_meanwhile() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    for pod in ["stays", "ends-1", "ends-2", "down", "swept-1", "swept-2"] {
        shim.call("ADD", &Attachment::of(pod), &config())?.result()?;
    }
    daemon.kill()?;
    let put_back = moved_away(&daemon)?;
    shim.call("DEL", &Attachment::of("down"), &config())?.silent()?;
    for pod in ["ends-1", "ends-2"] {
        daemon.launch()?;
        shim.call("DEL", &Attachment::of(pod), &config())?.silent()?;
        // Each is acknowledged, so no kill may lose it.
        daemon.kill()?;
    }
    daemon.launch()?;
    shim.call("GC", &Attachment::of(""), &gc(&["stays", "swept-2"]))?.silent()?;
    shim.call("GC", &Attachment::of(""), &gc(&["stays"]))?.silent()?;
    daemon.kill()?;
    put_back_after_a_restart(&mut daemon, put_back)?;
    wait::holds("what has ended to be freed", LIMIT, || Ok(containers(&daemon)? == ["stays"]))?;
    wait::holds("the spool to be empty", LIMIT, || {
        Ok(fs::read_dir(daemon.run_directory().join("spool"))?.next().is_none())
    })?;
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(containers(&daemon)? == ["stays"], "it came back: {:?}", containers(&daemon)?);
    Ok(())
}

fn later_owner() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    shim.call("ADD", &Attachment::of("pod"), &config())?.result()?;
    daemon.kill()?;
    fs::remove_dir_all(daemon.state_directory())?;
    daemon.launch()?;
    shim.call("DEL", &Attachment::of("pod"), &config())?.silent()?;
    shim.call("GC", &Attachment::of(""), &gc(&[]))?.silent()?;
    daemon.ctl(&["adopt", "--empty"])?;
    // The same container again, as podman starts one.
    let address = shim.call("ADD", &Attachment::of("pod"), &config())?.address()?;
    wait::holds("the spool to be empty", LIMIT, || {
        Ok(fs::read_dir(daemon.run_directory().join("spool"))?.next().is_none())
    })?;
    let again = shim.call("ADD", &Attachment::of("pod"), &config())?.address()?;
    ensure!(again == address && containers(&daemon)? == ["pod"], "{again} after {address}");
    Ok(())
}

/// In an older state, the address of a container that was stopped meanwhile is still its own, although another has it by now.
fn older_state() -> anyhow::Result<()> {
    let mut daemon = Daemon::start_with("[addresses]\ncooldown_seconds = 0\n")?;
    let shim = daemon.shim()?;
    let small = json!({ "cniVersion": "1.1.0", "name": "one", "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.92.0.0/30" }]] } });
    shim.call("ADD", &Attachment::of("stopped"), &small)?.result()?;
    ensure!(daemon.stop()?.success(), "the stop is not clean");
    let (state, older) = (daemon.state_directory(), daemon.path("older"));
    fs::create_dir(&older)?;
    for entry in fs::read_dir(&state)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), older.join(entry.file_name()))?;
        }
    }
    daemon.start_again()?;
    shim.call("DEL", &Attachment::of("stopped"), &small)?.silent()?;
    shim.call("ADD", &Attachment::of("owner"), &small)?.address()?;
    daemon.kill()?;
    fs::remove_dir_all(&state)?;
    fs::rename(&older, &state)?;
    daemon.launch()?;
    shim.call("ADD", &Attachment::of("stopped"), &small)?.error_code(TRY_AGAIN)?;
    shim.call("CHECK", &Attachment::of("stopped"), &checked(&small))?.error_code(TRY_AGAIN)?;
    Ok(())
}

/// Puts the right state back, after one more start on the wrong one.
fn put_back_after_a_restart(
    daemon: &mut Daemon,
    put_back: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    daemon.launch()?;
    daemon.shim()?.call("ADD", &Attachment::of("next"), &config())?.error_code(TRY_AGAIN)?;
    daemon.kill()?;
    put_back()?;
    daemon.start_again()
}

/// Somebody who looks for the cause empties the run directory while the daemon runs.
fn mark_deleted() -> anyhow::Result<()> {
    let mut daemon = Daemon::start()?;
    let shim = daemon.shim()?;
    shim.call("ADD", &Attachment::of("pod"), &config())?.result()?;
    daemon.kill()?;
    let put_back = moved_away(&daemon)?;
    daemon.launch()?;
    fs::remove_dir_all(daemon.run_directory())?;
    let mark = daemon.run_directory().join("state-seen");
    wait::holds("the mark to be back", LIMIT, || Ok(mark.exists()))?;
    daemon.kill()?;
    put_back_after_a_restart(&mut daemon, put_back)?;
    ensure!(containers(&daemon)? == ["pod"], "{:?}", containers(&daemon)?);
    Ok(())
}

/// The configuration of a CHECK, with a previous result.
fn checked(config: &Value) -> Value {
    let mut config = config.clone();
    if let Some(config) = config.as_object_mut() {
        config.insert("prevResult".to_owned(), json!({ "cniVersion": "1.1.0", "ips": [] }));
    }
    config
}

/// A daemon with one agent, the user who runs the test, and a container runtime without any pod.
fn with_agent() -> anyhow::Result<(Daemon, Agent, Runtime)> {
    let mut daemon = Daemon::prepare()?;
    let socket = daemon.path("cri.sock");
    let runtime = Runtime::serve(&socket, &[])?;
    let uid = rustix::process::geteuid().as_raw();
    daemon.configure(&format!(
        "[runtime]\nsocket = \"unix://{}\"\nexclusive = true\n\
         [agents.cilium]\nuid = {uid}\nnetworks = [\"pods\"]\naddresses = true\n",
        socket.display()
    ))?;
    daemon.start_again()?;
    let agent = listening(&daemon)?;
    Ok((daemon, agent, runtime))
}

/// The agent, once its socket is open.
fn listening(daemon: &Daemon) -> anyhow::Result<Agent> {
    let agent = Agent::at(&daemon.run_directory());
    wait::holds("the agents' socket", LIMIT, || {
        Ok(agent.lists()?.map_or_else(|error| error.code != ErrorCode::Unreachable, |_| true))
    })?;
    Ok(agent)
}

/// The address of a pod, without its prefix length.
fn address_of(daemon: &Daemon, pod: &str) -> anyhow::Result<String> {
    let address = daemon.shim()?.call("ADD", &Attachment::of(pod), &config())?.address()?;
    Ok(address.split('/').next().unwrap_or_default().to_owned())
}

fn agents_address() -> anyhow::Result<()> {
    let (mut daemon, agent, _runtime) = with_agent()?;
    let shim = daemon.shim()?;
    shim.call("ADD", &Attachment::of("first"), &config())?.result()?;
    let router = agent.ensures(claim("router"))??;
    let dropped = agent.ensures(claim("dropped"))??;
    shim.call("DEL", &Attachment::of("first"), &config())?.silent()?;
    ensure!(agent.releases("pods", "dropped")??, "it was not there");
    daemon.kill()?;
    fs::remove_dir_all(daemon.state_directory())?;
    // However often it restarts: nothing of the ledger is left, but the runtime has no pod.
    daemon.launch()?;
    daemon.kill()?;
    daemon.start_again()?;
    let agent = listening(&daemon)?;
    // Every address but the agent's is given out.
    let mut given = Vec::new();
    for number in 0..12 {
        given.push(address_of(&daemon, &format!("pod-{number}"))?);
    }
    ensure!(router.iter().all(|router| !given.contains(router)), "a pod got {router:?}");
    ensure!(dropped.iter().all(|dropped| given.contains(dropped)), "nobody got {dropped:?} of {given:?}");
    ensure!(agent.ensures(claim("router"))?? == router, "it is not the agent's any more");
    // Twice lost, and killed before anything was restored.
    daemon.kill()?;
    fs::remove_dir_all(daemon.state_directory())?;
    daemon.start_again()?;
    daemon.kill()?;
    daemon.start_again()?;
    let agent = listening(&daemon)?;
    let first = address_of(&daemon, "after")?;
    ensure!(agent.lists()??.len() == 1, "the claim is not listed");
    ensure!(agent.ensures(claim("router"))?? == router && !router.contains(&first), "{router:?} and {first}");
    // What the agent no longer declares is free.
    agent.declares(Vec::new(), false)??;
    ensure!(agent.lists()??.is_empty(), "it stays");
    Ok(())
}

fn operators_word() -> anyhow::Result<()> {
    let (mut daemon, agent, _runtime) = with_agent()?;
    daemon.shim()?.call("ADD", &Attachment::of("pod"), &config())?.result()?;
    agent.ensures(claim("router"))??;
    daemon.kill()?;
    fs::remove_dir_all(daemon.state_directory())?;
    fs::remove_file(daemon.run_directory().join("claims-seen"))?;
    daemon.launch()?;
    wait::holds("the runtime's word not to be enough", LIMIT, || {
        Ok(!daemon.log("their claims were lost with the state").is_empty())
    })?;
    daemon.shim()?.call("ADD", &Attachment::of("next"), &config())?.error_code(TRY_AGAIN)?;
    daemon.ctl(&["adopt", "--empty"])?;
    daemon.shim()?.call("ADD", &Attachment::of("next"), &config())?.result()?;
    Ok(())
}

fn agents_wait() -> anyhow::Result<()> {
    let uid = rustix::process::geteuid().as_raw();
    let config_file = format!("[agents.cilium]\nuid = {uid}\nnetworks = [\"pods\"]\n");
    let mut daemon = Daemon::start_with(&config_file)?;
    let agent = listening(&daemon)?;
    daemon.shim()?.call("ADD", &Attachment::of("pod"), &config())?.result()?;
    let router = agent.ensures(claim("router"))??;
    daemon.kill()?;
    let put_back = moved_away(&daemon)?;
    daemon.launch()?;
    let agent = listening(&daemon)?;
    let code = |outcome: Result<(), Error>| outcome.err().map(|error| error.code);
    let not_ready = Some(ErrorCode::NotReady);
    ensure!(code(agent.lists()?.map(drop)) == not_ready, "List has an answer");
    ensure!(code(agent.ensures(claim("router"))?.map(drop)) == not_ready, "Ensure has an answer");
    ensure!(code(agent.declares(Vec::new(), false)?.map(drop)) == not_ready, "Declare has an answer");
    ensure!(code(agent.releases("pods", "router")?.map(drop)) == not_ready, "Release has an answer");
    let watched = agent.does(async |agent| next(&mut agent.watch("").await?).await)?;
    ensure!(code(watched.map(drop)) == not_ready, "Watch has an answer");
    daemon.kill()?;
    put_back()?;
    daemon.start_again()?;
    let agent = listening(&daemon)?;
    let listed = agent.lists()??;
    ensure!(agent::addresses(listed.first().context("no claim")?) == router, "{listed:?}");
    Ok(())
}
