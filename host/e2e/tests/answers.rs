//! Answers to an agent: rights are followed while it waits and watches, and every failure says why.

#[path = "agents/agent.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod agent;
#[path = "flood/raw.rs"]
#[expect(dead_code, reason = "another suite needs the rest of it")]
mod raw;

use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use agent::{Agent, claim, next};
use anyhow::{Context as _, ensure};
use prost::Message as _;
use raw::Raw;
use tenure_e2e::{Daemon, Need, Suite, wait};
use tenure_rpc::v1::claims_client::ClaimsClient;
use tenure_rpc::v1::{
    DeclareClaimsRequest, EnsureClaimRequest, ListClaimsRequest, WatchClaimsRequest, WatchClaimsResponse,
};
use tenure_types::{Error, ErrorCode};
use tonic::transport::Endpoint;

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The groups of two users.
const ONE: u32 = 42_001;
const OTHER: u32 = 42_002;

const NETWORK: &str = "[networks.pods.ipam]\nranges = [[{ subnet = \"10.94.0.0/22\" }]]\n";

fn main() -> ExitCode {
    Suite::new()
        .test("ensures_that_wait_for_a_network_are_all_answered_when_it_comes", &[Need::Root], woken)
        .test("a_name_that_goes_to_another_user_ends_the_watches_of_the_old_one", &[Need::Root], moved)
        .test("what_an_agent_may_no_longer_have_is_not_claimed_for_its_waiting_call", &[Need::Root], narrowed)
        .test("every_failure_says_its_reason", &[Need::Root], explained)
        .test("a_watch_that_is_cut_off_ends_with_a_status_that_says_so", &[Need::Root], cut_off)
        .test("the_routes_of_a_network_come_once_where_they_are_asked_for_apart", &[Need::Root], apart)
        .run()
}

/// An agent of a group, with these keys.
fn table(group: u32, more: &str) -> String {
    format!("[agents.one]\ngid = {group}\nnetworks = [\"pods\"]\nclaims = 1000\n{more}")
}

fn start(config: &str) -> anyhow::Result<(Daemon, Agent)> {
    let daemon = Daemon::start_with(config)?;
    let agent = Agent::at(&daemon.run_directory()).in_group(ONE);
    wait::holds("the agents' socket", LIMIT, || Ok(agent.lists()?.is_ok()))?;
    Ok((daemon, agent))
}

fn reconfigure(daemon: &Daemon, config: &str) -> anyhow::Result<()> {
    daemon.configure(config)?;
    daemon.ctl(&["reload"]).map(drop)
}

/// An Ensure that waits, in a thread of its own.
fn waiting(agent: &Agent, name: &str) -> Receiver<anyhow::Result<Result<Vec<String>, Error>>> {
    let (sender, answer) = mpsc::channel();
    let (agent, claim) = (agent.clone(), claim(name));
    std::thread::spawn(move || sender.send(agent.does(async move |agent| agent.ensure(claim, 55_000).await)));
    answer
}

fn woken() -> anyhow::Result<()> {
    let (daemon, agent) = start(&table(ONE, ""))?;
    let (sender, answers) = mpsc::channel();
    let calling = agent.clone();
    std::thread::spawn(move || {
        let told = calling.does(async move |agent| {
            let ensure = |number: u32| {
                let mut agent = agent.0.clone();
                let request = EnsureClaimRequest {
                    claim: Some(claim(&format!("claim-{number}"))),
                    wait_ms: 110_000,
                    ..Default::default()
                };
                async move { agent.ensure(request).await.map(drop) }
            };
            let all = futures_util::future::join_all((0..200).map(ensure)).await;
            Ok(all.into_iter().filter_map(Result::err).map(|status| status.to_string()).collect::<Vec<_>>())
        });
        sender.send(told)
    });
    // Nobody is kept from calling meanwhile.
    ensure!(answers.recv_timeout(Duration::from_millis(500)).is_err(), "there is no network yet");
    ensure!(agent.lists()?.is_ok(), "calls that wait hold up one that does not");
    reconfigure(&daemon, &format!("{NETWORK}{}", table(ONE, "")))?;
    let failed = answers.recv_timeout(LIMIT)???;
    ensure!(failed.is_empty(), "{} of 200 failed: {:?}", failed.len(), failed.first());
    ensure!(agent.lists()??.len() == 200, "not all were made");
    Ok(())
}

/// A watch in a thread of its own: its responses, and then how it ended.
fn watching(agent: &Agent) -> Receiver<Result<WatchClaimsResponse, Error>> {
    let (sender, told) = mpsc::channel();
    let agent = agent.clone();
    std::thread::spawn(move || {
        let end = sender.clone();
        let ended = agent.does(async move |agent| {
            let mut watch = agent.watch("").await?;
            loop {
                let response = next(&mut watch).await?;
                let _ = sender.send(Ok(response));
            }
            #[expect(unreachable_code, reason = "says what the loop would return")]
            Ok(())
        });
        if let Ok(Err(error)) = ended {
            let _ = end.send(Err(error));
        }
    });
    told
}

fn moved() -> anyhow::Result<()> {
    let (daemon, agent) = start(&format!("{NETWORK}{}", table(ONE, "")))?;
    wait::holds("the network", LIMIT, || Ok(!daemon.networks()?.is_empty()))?;
    agent.ensures(claim("router"))??;
    let told = watching(&agent);
    ensure!(told.recv_timeout(LIMIT)??.claims.len() == 1, "the first response");
    // A reload that leaves the agent alone leaves its watch alone.
    reconfigure(&daemon, &format!("{NETWORK}{}", table(ONE, "addresses = true\n")))?;
    agent.ensures(claim("health"))??;
    ensure!(told.recv_timeout(LIMIT)??.claims.len() == 1, "the second response");

    reconfigure(&daemon, &format!("{NETWORK}{}", table(OTHER, "")))?;
    let other = agent.in_group(OTHER);
    other.ensures(claim("secret"))??;
    let end = told.recv_timeout(LIMIT)?.err().context("the old user hears of what the new one does")?;
    ensure!(end.code == ErrorCode::AgentUnknown, "{end:?}");
    Ok(())
}

fn narrowed() -> anyhow::Result<()> {
    let (daemon, agent) = start(&table(ONE, ""))?;
    for (name, then, code) in [
        ("narrowed", table(ONE, "names = [\"other\"]\n"), ErrorCode::ClaimDenied),
        ("removed", table(OTHER, ""), ErrorCode::AgentUnknown),
    ] {
        reconfigure(&daemon, &table(ONE, ""))?;
        let answer = waiting(&agent, name);
        ensure!(answer.recv_timeout(Duration::from_millis(500)).is_err(), "there is no network yet");
        // It hears of it at once, and not only when the network comes.
        reconfigure(&daemon, &then)?;
        let told = answer.recv_timeout(LIMIT)??.err().context("it was claimed")?;
        ensure!(told.code == code, "{told:?}");
    }
    // Both at once.
    reconfigure(&daemon, &table(ONE, ""))?;
    let answer = waiting(&agent, "both");
    ensure!(answer.recv_timeout(Duration::from_millis(500)).is_err(), "there is no network yet");
    reconfigure(&daemon, &format!("{NETWORK}{}", table(OTHER, "")))?;
    ensure!(answer.recv_timeout(LIMIT)??.is_err(), "it was claimed");
    ensure!(daemon.allocations("pods")?.is_empty(), "{:?}", daemon.allocations("pods")?);
    Ok(())
}

fn explained() -> anyhow::Result<()> {
    let (daemon, _agent) = start(&table(ONE, ""))?;
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    let raw = Raw::connect(&socket, ONE)?.context("it was refused")?;
    for (path, bytes, reason) in [
        ("/tenure.v1.Claims/Forget", &[][..], "unknown-method"),
        ("/tenure.v1.Admin/Status", &[][..], "unknown-method"),
        ("/tenure.v1.Claims/Ensure", &[0xff, 0xff, 0xff][..], "malformed-request"),
        ("/tenure.v1.Claims/Declare", &[0xff, 0xff, 0xff][..], "malformed-request"),
        ("/tenure.v1.Claims/Watch", &[0xff, 0xff, 0xff][..], "malformed-request"),
        ("/tenure.v1.AgentCni/Add", &[0xff, 0xff, 0xff][..], "malformed-request"),
        ("/tenure.v1.Claims/Ensure", &[0; 20 << 10][..], "malformed-request"),
        // An empty claim.
        ("/tenure.v1.Claims/Ensure", &[][..], "claim-invalid"),
    ] {
        let told = raw.says(path, bytes, None)?;
        ensure!(told.reason == reason && !told.message.is_empty(), "{path}: {told:?}");
    }
    let late = EnsureClaimRequest { claim: Some(claim("late")), wait_ms: 60_000, ..Default::default() };
    let late = late.encode_to_vec();
    let told = raw.says("/tenure.v1.Claims/Ensure", &late, Some("300m"))?;
    ensure!(told.reason == "deadline-exceeded", "{told:?}");
    Ok(())
}

fn cut_off() -> anyhow::Result<()> {
    let (daemon, agent) = start(&format!("{NETWORK}{}", table(ONE, "")))?;
    wait::holds("the network", LIMIT, || Ok(!daemon.networks()?.is_empty()))?;
    agent.declares((0..100).map(|number| claim(&format!("claim-{number}"))).collect(), false)??;
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    let (opened, open) = mpsc::channel();
    let (go_on, goes_on) = tokio::sync::oneshot::channel::<()>();
    let reading = agent.in_group(ONE);
    let reader = std::thread::spawn(move || {
        reading.does_here(async move |_| {
            // A window that has room for less than the first response.
            let endpoint = Endpoint::from_shared(format!("unix:{}", socket.display()));
            let endpoint = endpoint.map_err(|error| Error::new(ErrorCode::Internal, error))?;
            let channel = endpoint.initial_stream_window_size(Some(1024)).connect().await;
            let channel = channel.map_err(|error| Error::new(ErrorCode::Internal, error))?;
            let mut connected = agent::Connected(ClaimsClient::new(channel));
            let mut watch = connected.watch("").await?;
            let _ = opened.send(());
            let _ = goes_on.await;
            loop {
                next(&mut watch).await?;
            }
            #[expect(unreachable_code, reason = "says what the loop would return")]
            Ok(())
        })
    });
    open.recv_timeout(LIMIT)?;
    // Fills the buffer that the daemon keeps for the reader; then the reader is cut off, which the log says.
    let log = || std::fs::read_to_string(daemon.path("tenured.log"));
    wait::holds("the watch to be cut off", LIMIT, || {
        agent.ensures(claim("another"))??;
        agent.releases("pods", "another")??;
        Ok(log()?.contains("cut off a watch"))
    })?;
    drop(go_on);
    let ended = reader.join().map_err(|_| anyhow::anyhow!("the reader panicked"))??;
    let error = ended.err().context("it goes on")?;
    ensure!(error.code == ErrorCode::DeadlineExceeded && error.cause.contains("unread"), "{error:?}");
    Ok(())
}

/// The routes of a network, and the claims on it.
const ROUTES: usize = 200;
const CLAIMS: usize = 300;

fn apart() -> anyhow::Result<()> {
    let routes: Vec<String> = (0..ROUTES)
        .map(|number| format!("{{ dst = \"10.200.{number}.0/24\", gw = \"10.94.0.1\" }}"))
        .collect();
    let (daemon, agent) = start(&format!("{NETWORK}routes = [{}]\n{}", routes.join(", "), table(ONE, "")))?;
    wait::holds("the network", LIMIT, || Ok(!daemon.networks()?.is_empty()))?;
    let specs: Vec<_> = (0..CLAIMS).map(|number| claim(&format!("claim-{number}"))).collect();
    let (sizes, list) = agent.does(async move |agent| {
        let failed = |status: tonic::Status| Error::new(ErrorCode::Internal, status);
        let request = DeclareClaimsRequest { claims: specs, routes_apart: true, ..Default::default() };
        let declared = agent.0.declare(request).await.map_err(failed)?.into_inner();
        let request = WatchClaimsRequest { routes_apart: true, ..Default::default() };
        let mut watch = agent.0.watch(request).await.map_err(failed)?.into_inner();
        let watched = next(&mut watch).await?;
        let request = ListClaimsRequest { routes_apart: true, ..Default::default() };
        let list = agent.0.list(request).await.map_err(failed)?.into_inner();
        let sizes = [declared.encoded_len(), watched.encoded_len(), list.encoded_len()];
        ([&declared.routes, &watched.routes].iter().all(|routes| **routes == list.routes))
            .then_some((sizes, list))
            .ok_or_else(|| Error::new(ErrorCode::Internal, "the answers differ"))
    })??;
    println!("{sizes:?} bytes of {CLAIMS} claims with {ROUTES} routes");
    ensure!(sizes.iter().all(|size| *size < 128 << 10), "{sizes:?}");
    let [only] = &list.routes[..] else { anyhow::bail!("{} networks", list.routes.len()) };
    ensure!(only.network == "pods" && only.routes.len() == ROUTES, "{only:?}");
    ensure!(list.claims.iter().all(|claim| claim.routes.is_empty()), "they are in the claims as well");
    // Who does not ask for that gets what it always got.
    let router = claim("claim-0");
    let told = agent.does(async move |agent| {
        let request = EnsureClaimRequest { claim: Some(router), ..Default::default() };
        agent.0.ensure(request).await.map_err(|status| Error::new(ErrorCode::Internal, status))
    })??;
    ensure!(told.into_inner().claim.is_some_and(|claim| claim.routes.len() == ROUTES), "its routes are gone");
    Ok(())
}
