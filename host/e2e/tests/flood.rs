//! Floods of the agents' socket: users that are not agents take no agent's place, and no one fills the daemon's memory.

#[path = "agents/agent.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod agent;
#[path = "flood/raw.rs"]
mod raw;

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use agent::{Agent, claim};
use anyhow::{Context as _, ensure};
use raw::{Raw, Told, settle};
use tenure_e2e::{Daemon, Need, Suite, wait};
use tenure_types::ErrorCode;

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The group of the agent, and one that no agent has.
const AGENT: u32 = 42_001;
const STRANGER: u32 = 42_002;

/// The size of a flood: connections, requests on each of them, and bytes of each request. On a daemon without bounds it is
/// 280 MiB.
const CONNECTIONS: usize = 16;
const REQUESTS: usize = 20;
const HALF: usize = 900 << 10;

/// How far the daemon may grow by it, in KiB.
const MOST: u64 = 64 << 10;

const DECLARE: &str = "/tenure.v1.Claims/Declare";
const WATCH_HEALTH: &str = "/grpc.health.v1.Health/Watch";

fn main() -> ExitCode {
    Suite::new()
        .test("half_messages_of_strangers_hold_no_memory_and_are_answered_in_words", &[Need::Root], strangers)
        .test("connections_of_strangers_lock_no_agent_out", &[Need::Root], crowd)
        .test("half_messages_of_an_agent_hold_bounded_memory_and_end", &[Need::Root], halves)
        .test("declarations_of_empty_claims_are_refused_before_they_are_decoded", &[Need::Root], empty)
        .test("answers_that_an_agent_does_not_read_are_bounded", &[Need::Root], unread)
        .test("health_watches_of_an_agent_are_bounded", &[Need::Root], watches)
        .run()
}

/// Starts a daemon with one agent, known by its group.
fn start() -> anyhow::Result<(Daemon, Agent)> {
    let daemon = Daemon::start_with(&format!(
        "[networks.pods.ipam]\nranges = [[{{ subnet = \"10.93.0.0/22\" }}]]\n[claims]\nsocket_mode = \"0666\"\n\
         [agents.one]\ngid = {AGENT}\nnetworks = [\"pods\"]\nclaims = 1000\n"
    ))?;
    let agent = Agent::at(&daemon.run_directory()).in_group(AGENT);
    wait::holds("the agent to be served", LIMIT, || Ok(agent.ensures(claim("router"))?.is_ok()))?;
    Ok((daemon, agent))
}

fn socket(daemon: &Daemon) -> PathBuf {
    daemon.run_directory().join(tenure_rpc::AGENT_SOCKET)
}

/// Sends half messages over many connections; returns them, and how far the daemon has grown, in KiB.
fn flood(daemon: &Daemon, group: u32) -> anyhow::Result<(Vec<Raw>, u64)> {
    let before = daemon.rss()?;
    let mut open = Vec::new();
    for _ in 0..CONNECTIONS {
        // Those that are closed at once hold nothing.
        open.extend(Raw::connect(&socket(daemon), group)?);
    }
    for connection in &open {
        (0..REQUESTS).for_each(|_| connection.half(DECLARE, HALF));
    }
    // Each has sent what it may.
    settle(&open);
    Ok((open, daemon.rss()?.saturating_sub(before)))
}

fn strangers() -> anyhow::Result<()> {
    let (daemon, agent) = start()?;
    let (open, grown) = flood(&daemon, STRANGER)?;
    println!("{grown} KiB more beside {} connections of strangers", open.len());
    ensure!(grown < MOST, "{grown} KiB");
    ensure!(agent.ensures(claim("health"))?.is_ok(), "the agent is not served");
    drop(open);
    // Once there is a place for words, it gets them.
    let stranger = agent.in_group(STRANGER);
    wait::holds("a stranger to be told", LIMIT, || {
        Ok(stranger.lists()?.is_err_and(|error| error.code == ErrorCode::AgentUnknown))
    })
}

fn crowd() -> anyhow::Result<()> {
    let (daemon, agent) = start()?;
    let connect = || UnixStream::connect(socket(&daemon));
    // This process itself is a stranger, too.
    let open = (0..600).map(|_| connect()).collect::<Result<Vec<_>, _>>()?;
    ensure!(agent.ensures(claim("health"))??.len() == 1, "the agent is locked out");
    ensure!(agent.lists()??.len() == 2, "the agent is locked out");
    daemon.ctl(&["status"])?;
    drop(open);
    Ok(())
}

fn halves() -> anyhow::Result<()> {
    let (daemon, agent) = start()?;
    let (open, grown) = flood(&daemon, AGENT)?;
    println!("{grown} KiB more beside {} connections of an agent", open.len());
    ensure!(grown < MOST, "{grown} KiB");
    // The rest never comes: the agent has its share again, though its connections stay.
    wait::holds("the half messages to end", LIMIT, || Ok(agent.ensures(claim("health"))?.is_ok()))?;
    // A message that is too long for its method is refused by what it says of its length.
    let one = Raw::connect(&socket(&daemon), AGENT)?;
    let one = one.ok_or_else(|| anyhow::anyhow!("the agent is refused"))?;
    for (path, length) in [(DECLARE, 2 << 20), ("/tenure.v1.Claims/Ensure", 17 << 10)] {
        let told = one.begin(path, length, 5)?;
        ensure!(
            told.reason == "malformed-request" && told.message.contains("longer than"),
            "{path}: {told:?}"
        );
    }
    drop(open);
    Ok(())
}

/// Declarations of claims that take two bytes each, and 152 decoded.
fn empty() -> anyhow::Result<()> {
    let (daemon, agent) = start()?;
    let before = daemon.peak_rss()?;
    let claims = [10, 0].repeat(500_000);
    for _ in 0..4 {
        let connection = Raw::connect(&socket(&daemon), AGENT)?;
        let told = connection.context("the agent is refused")?.says(DECLARE, &claims, None)?;
        ensure!(told.reason == "claim-invalid" && told.message.contains("500000 claims"), "{told:?}");
    }
    let grown = daemon.peak_rss()?.saturating_sub(before);
    println!("{grown} KiB more for declarations of empty claims");
    ensure!(grown < MOST, "{grown} KiB");
    ensure!(agent.lists()?.is_ok(), "the agent is not served");
    Ok(())
}

/// Lists of as many claims as an agent may have, on connections that read nothing.
fn unread() -> anyhow::Result<()> {
    let (daemon, agent) = start()?;
    let all = (0..1000).map(|number| claim(&format!("a-claim-with-a-long-name-{number}"))).collect();
    agent.declares(all, false)??;
    for path in ["/tenure.v1.Claims/List", "/tenure.v1.Claims/Watch"] {
        let before = daemon.rss()?;
        let mut open = Vec::new();
        for _ in 0..CONNECTIONS {
            let connection = Raw::connect(&socket(&daemon), AGENT)?;
            let connection = connection.ok_or_else(|| anyhow::anyhow!("the agent is refused"))?;
            (0..100).for_each(|_| connection.unread(path));
            open.push(connection);
        }
        settle(&open);
        let grown = daemon.rss()?.saturating_sub(before);
        println!("{grown} KiB more for answers of {path} that nobody reads");
        ensure!(grown < MOST, "{path}: {grown} KiB");
        drop(open);
        wait::holds("the agent to be served", LIMIT, || Ok(agent.lists()?.is_ok()))?;
    }
    Ok(())
}

fn watches() -> anyhow::Result<()> {
    let (daemon, agent) = start()?;
    let mut refused = None;
    let mut open = Vec::new();
    for _ in 0..4 {
        let connection = Raw::connect(&socket(&daemon), AGENT)?;
        let connection = connection.ok_or_else(|| anyhow::anyhow!("the agent is refused"))?;
        for _ in 0..50 {
            match connection.begin(WATCH_HEALTH, 0, 5)? {
                Told { reason, .. } if reason == "watching" => {}
                told => refused = Some(told),
            }
        }
        open.push(connection);
    }
    let told = refused.ok_or_else(|| anyhow::anyhow!("200 watches are open"))?;
    ensure!(told.reason == "overloaded" && told.message.contains("health watches"), "{told:?}");
    ensure!(agent.lists()?.is_ok(), "calls are none of that");
    drop(open);
    Ok(())
}
