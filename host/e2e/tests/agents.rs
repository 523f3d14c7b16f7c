//! Agents that claim addresses of their own: over their socket, as the programs that they are.

#[path = "agents/agent.rs"]
mod agent;
#[path = "agents/prefixes.rs"]
mod prefixes;
#[path = "agents/scopes.rs"]
mod scopes;

use std::os::unix::fs::PermissionsExt as _;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use agent::{Agent, addresses, claim, next, wanting};
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Need, Suite, wait};
use tenure_types::{Error, ErrorCode};

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

const NETWORK: &str = "[networks.pods.ipam]\nranges = [[{ subnet = \"10.90.0.0/24\", gateway = \"10.90.0.1\" }]]\nroutes = [{ dst = \"0.0.0.0/0\" }, { dst = \"::/0\" }]\n";

/// The groups of two agents.
const ONE: u32 = 42_001;
const OTHER: u32 = 42_002;

fn main() -> ExitCode {
    Suite::new()
        .test("a_claim_stays_through_restarts_kills_exchanges_and_gc", &[], stays)
        .test("after_a_reboot_a_claim_is_reserved_and_pods_are_gone", &[Need::Root], reserved)
        .test("of_two_agents_that_race_for_an_address_one_gets_it", &[Need::Root], race)
        .test("an_agent_sees_and_releases_its_own_claims_only", &[Need::Root], apart)
        .test("a_feature_that_is_switched_off_frees_its_address_at_the_next_declaration", &[], switched_off)
        .test("a_claim_made_before_its_network_exists_is_answered_once_it_does", &[], early)
        .test("what_an_agent_may_not_claim_is_refused_by_its_rule", &[], denied)
        .test("a_watch_tells_what_changes_and_a_stop_ends_it", &[], watched)
        .test("a_lease_that_nobody_renews_runs_out", &[], leased)
        .test("components_of_one_agent_have_claims_of_their_own", &[], scopes::apart)
        .test("a_run_that_ends_takes_nothing_from_its_successor", &[], scopes::succeeded)
        .test("a_prefix_stays_whole_and_its_owners", &[], prefixes::stay_whole)
        .test("a_network_has_addresses_for_pods_and_prefixes_for_claims", &[], prefixes::beside_addresses)
        .test("the_socket_comes_and_goes_with_the_agents_and_others_stay_closed", &[Need::Root], socket)
        .run()
}

/// The configuration of one agent: the user who runs the test.
fn own(more: &str) -> String {
    let uid = rustix::process::geteuid().as_raw();
    format!("{NETWORK}[agents.cilium]\nuid = {uid}\nnetworks = [\"pods\"]\n{more}")
}

/// The configuration of two agents, known by their groups.
fn two() -> String {
    let table = |name: &str, gid: u32| {
        format!("[agents.{name}]\ngid = {gid}\nnetworks = [\"pods\"]\naddresses = true\n")
    };
    format!("{NETWORK}{}{}", table("one", ONE), table("other", OTHER))
}

/// Starts a daemon whose agents' socket is open.
fn start(config: &str) -> anyhow::Result<(Daemon, Agent)> {
    let daemon = Daemon::start_with(config)?;
    let agent = agent(&daemon)?;
    Ok((daemon, agent))
}

/// Waits for the agents' socket.
fn agent(daemon: &Daemon) -> anyhow::Result<Agent> {
    let agent = Agent::at(&daemon.run_directory());
    wait::holds("the agents' socket", LIMIT, || {
        Ok(agent.lists()?.map_or_else(|error| error.code != ErrorCode::Unreachable, |_| true))
    })?;
    wait::holds("the network", LIMIT, || Ok(!daemon.networks()?.is_empty()))?;
    Ok(agent)
}

fn config() -> Value {
    json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure" } })
}

fn first<T>(list: &[T]) -> anyhow::Result<&T> {
    list.first().context("an empty list")
}

fn at<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn code<T>(outcome: Result<T, Error>) -> Option<ErrorCode> {
    outcome.err().map(|error| error.code)
}

fn stays() -> anyhow::Result<()> {
    let (mut daemon, agent) = start(&own(""))?;
    let router = agent.ensures(claim("router"))??;
    ensure!(router.len() == 1 && first(&router)?.starts_with("10.90.0."), "{router:?}");
    let shim = daemon.shim()?;
    let pod = |number: u32| Attachment::of(format!("pod-{number}"));
    for number in 0..3 {
        let address = shim.call("ADD", &pod(number), &config())?.address()?;
        ensure!(!address.starts_with(first(&router)?), "a pod got {address}");
    }
    daemon.stop()?;
    daemon.start_again()?;
    ensure!(self::agent(&daemon)?.ensures(claim("router"))?? == router, "after a restart");
    daemon.kill()?;
    daemon.start_again()?;
    ensure!(self::agent(&daemon)?.ensures(claim("router"))?? == router, "after a kill");
    daemon.ctl(&["policy", "activate", "pods", "highest-first"])?;
    ensure!(agent.ensures(claim("router"))?? == router, "after an exchange");

    let mut gc = config();
    let valid = ("cni.dev/valid-attachments".to_owned(), json!([]));
    gc.as_object_mut().context("no object")?.extend([valid]);
    shim.call("GC", &pod(0), &gc)?.silent()?;
    let left = daemon.allocations("pods")?;
    ensure!(left.len() == 1 && at(first(&left)?, "/kind") == "claim", "GC left {left:?}");
    ensure!(agent.ensures(claim("router"))?? == router, "after a GC");

    // Operators see it, and can end it.
    let shown = daemon.ctl(&["claims"])?;
    ensure!(at(&shown, "/claims/0/agent") == "cilium" && at(&shown, "/claims/0/name") == "router", "{shown}");
    let listed = agent.lists()??;
    let only = first(&listed)?;
    ensure!(addresses(only) == router, "{only:?}");
    ensure!(first(&only.addresses)?.gateway == "10.90.0.1" && only.routes.len() == 1, "{only:?}");
    daemon.ctl(&["claims", "release", "cilium", "pods", "router"])?;
    ensure!(agent.lists()??.len() == 1, "a dry run released it");
    let released = daemon.ctl(&["claims", "release", "cilium", "pods", "router", "--apply"])?;
    ensure!(
        released.pointer("/applied") == Some(&Value::Bool(true)) && agent.lists()??.is_empty(),
        "{released}"
    );
    ensure!(daemon.allocations("pods")?.is_empty(), "its allocation is left");
    Ok(())
}

fn reserved() -> anyhow::Result<()> {
    let (mut daemon, agent) = start(&own("[claims]\nreserved_seconds = 3600\n"))?;
    let router = agent.ensures(claim("router"))??;
    daemon.shim()?.call("ADD", &Attachment::of("pod"), &config())?.address()?;
    daemon.stop()?;
    daemon.reboot()?;
    daemon.start_again()?;
    let agent = self::agent(&daemon)?;
    let listed = agent.lists()??;
    ensure!(listed.iter().any(|claim| claim.reserved && claim.lapses_at_ms > 0), "{listed:?}");
    ensure!(daemon.allocations("pods")?.len() == 1, "the pod survived a reboot");
    ensure!(agent.ensures(claim("router"))?? == router, "after a reboot");
    ensure!(!first(&agent.lists()??)?.reserved, "its agent has returned");
    Ok(())
}

fn race() -> anyhow::Result<()> {
    let (daemon, agent) = start(&two())?;
    for round in 10..30 {
        let address = format!("10.90.0.{round}");
        let name = format!("claim-{}", round % 10);
        let (sender, outcomes) = mpsc::channel();
        for gid in [ONE, OTHER] {
            let (agent, sender) = (agent.in_group(gid), sender.clone());
            let spec = wanting(&name, &address);
            std::thread::spawn(move || sender.send(agent.ensures(spec)));
        }
        let outcomes = [outcomes.recv_timeout(LIMIT)??, outcomes.recv_timeout(LIMIT)??];
        let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        ensure!(won == 1, "round {round}: {outcomes:?}");
        for error in outcomes.into_iter().filter_map(Result::err) {
            ensure!(error.code == ErrorCode::AddressUnavailable, "{error:?}");
            ensure!(
                !error.cause.contains("claim-") && !error.cause.contains(" one"),
                "it tells whose it is: {error:?}"
            );
        }
        for gid in [ONE, OTHER] {
            agent.in_group(gid).releases("pods", &name)??;
        }
        ensure!(daemon.allocations("pods")?.is_empty(), "round {round} left something");
    }
    Ok(())
}

fn apart() -> anyhow::Result<()> {
    let (daemon, agent) = start(&two())?;
    let (one, other) = (agent.in_group(ONE), agent.in_group(OTHER));
    let address = one.ensures(claim("router"))??;
    ensure!(other.lists()??.is_empty(), "the other sees it");
    ensure!(!other.releases("pods", "router")??, "the other released it");
    other.declares(Vec::new(), false)??;
    ensure!(one.ensures(claim("router"))?? == address, "the other has changed it");
    ensure!(other.ensures(claim("router"))?? != address, "both have {address:?}");
    ensure!(
        code(agent.ensures(claim("router"))?) == Some(ErrorCode::AgentUnknown),
        "the test itself is not an agent"
    );
    ensure!(daemon.allocations("pods")?.len() == 2, "{:?}", daemon.allocations("pods")?);
    Ok(())
}

fn switched_off() -> anyhow::Result<()> {
    let (daemon, agent) = start(&own(""))?;
    let all = || ["router", "health", "ingress"].map(claim).to_vec();
    let would = agent.declares(all(), true)??;
    ensure!(would.created.len() == 3 && agent.lists()??.is_empty(), "{would:?}");
    let declared = agent.declares(all(), false)??;
    let told = |claims: &[_]| claims.iter().map(addresses).collect::<Vec<_>>();
    ensure!(told(&declared.created) == told(&would.created), "{declared:?} after {would:?}");
    let declared = agent.declares(vec![claim("router"), claim("health")], false)??;
    ensure!((declared.kept.len(), declared.created.len()) == (2, 0), "{declared:?}");
    ensure!(declared.released.len() == 1 && first(&declared.released)?.name == "ingress", "{declared:?}");
    ensure!(daemon.allocations("pods")?.len() == 2, "its address is still held");
    // One that cannot be had changes nothing.
    let refused = agent.declares(vec![ClaimOf::elsewhere("nowhere")], false)?;
    ensure!(code(refused) == Some(ErrorCode::ClaimDenied), "not allowed");
    ensure!(agent.lists()??.len() == 2, "it was released");
    Ok(())
}

/// Claims on other networks.
struct ClaimOf;

impl ClaimOf {
    fn elsewhere(network: &str) -> tenure_rpc::v1::ClaimSpec {
        tenure_rpc::v1::ClaimSpec { network: network.to_owned(), ..claim("router") }
    }
}

fn early() -> anyhow::Result<()> {
    let uid = rustix::process::geteuid().as_raw();
    let agents = format!("[agents.cilium]\nuid = {uid}\nnetworks = [\"pods\"]\n");
    let daemon = Daemon::start_with(&agents)?;
    let agent = Agent::at(&daemon.run_directory());
    wait::holds("the agents' socket", LIMIT, || Ok(agent.lists()?.is_ok()))?;
    let at_once = agent.ensures(claim("router"))?;
    ensure!(code(at_once) == Some(ErrorCode::UnknownNetwork), "without waiting");
    let (sender, answers) = mpsc::channel();
    let waiting = agent.clone();
    std::thread::spawn(move || {
        sender.send(waiting.does(async |agent| agent.ensure(claim("router"), 55_000).await))
    });
    ensure!(answers.recv_timeout(Duration::from_millis(300)).is_err(), "there is no network yet");
    daemon.configure(&format!("{NETWORK}{agents}"))?;
    daemon.ctl(&["reload"])?;
    let address = answers.recv_timeout(LIMIT).context("no answer")???;
    ensure!(first(&address)?.starts_with("10.90.0."), "{address:?}");
    // Each attempt of a call that waits is a request of the engine's.
    let warnings = daemon.log("refused").lines().filter(|line| line.contains("WARN")).count();
    ensure!(warnings == 1, "{warnings} lines:\n{}", daemon.log("refused"));
    Ok(())
}

fn denied() -> anyhow::Result<()> {
    let (daemon, agent) = start(&own("names = [\"router\", \"in-*\"]\nclaims = 2\n"))?;
    for (spec, rule) in [
        (ClaimOf::elsewhere("lan"), "agents.cilium.networks does not allow network lan"),
        (claim("health"), "agents.cilium.names does not allow the name health"),
        (wanting("router", "10.90.0.9"), "agents.cilium.addresses does not allow"),
    ] {
        let error = agent.ensures(spec)?.err().context("it was allowed")?;
        ensure!(error.code == ErrorCode::ClaimDenied && error.cause.contains(rule), "{error:?}");
    }
    let bad = agent.ensures(wanting("router", "10.90.0.999"))?;
    ensure!(code(bad) == Some(ErrorCode::ClaimInvalid), "no address");
    agent.ensures(claim("in-1"))??;
    agent.ensures(claim("in-2"))??;
    let error = agent.ensures(claim("in-3"))?.err().context("a third")?;
    ensure!(error.cause.contains("agents.cilium.claims allows 2 claims"), "{error:?}");
    ensure!(daemon.allocations("pods")?.len() == 2, "{:?}", daemon.allocations("pods")?);
    Ok(())
}

fn watched() -> anyhow::Result<()> {
    let (mut daemon, agent) = start(&own(""))?;
    agent.ensures(claim("router"))??;
    let (sender, told) = mpsc::channel();
    let watching = agent.clone();
    let watcher = std::thread::spawn(move || {
        watching.does(async move |agent| {
            let mut watch = agent.watch("").await?;
            loop {
                let response = next(&mut watch).await?;
                let _ = sender.send(response);
            }
            #[expect(unreachable_code, reason = "says what the loop would return")]
            Ok(())
        })
    });
    let all = told.recv_timeout(LIMIT)?;
    ensure!(all.is_all && all.claims.len() == 1, "{all:?}");
    agent.ensures(claim("health"))??;
    let more = told.recv_timeout(LIMIT)?;
    ensure!(!more.is_all && more.claims.len() == 1 && first(&more.claims)?.name == "health", "{more:?}");
    daemon.ctl(&["claims", "release", "cilium", "pods", "router", "--apply", "--reason", "a test"])?;
    let less = told.recv_timeout(LIMIT)?;
    ensure!(less.ended.len() == 1 && first(&less.ended)?.reason == "operator: a test", "{less:?}");

    // Who comes back with a version hears only of what came after it.
    let version = more.version;
    let resumed = agent.does(async move |agent| next(&mut agent.watch(&version).await?).await)??;
    ensure!(!resumed.is_all && resumed.claims.is_empty() && resumed.ended.len() == 1, "{resumed:?}");

    // An open watch does not hold up a stop, and the next daemon tells everything anew.
    let status = daemon.stop()?;
    ensure!(status.success(), "{status}");
    let end = watcher.join().map_err(|_| anyhow::anyhow!("the watcher panicked"))??;
    ensure!(code(end) == Some(ErrorCode::NotReady), "the watch did not say why it ended");
    let log = std::fs::read_to_string(daemon.path("tenured.log"))?;
    ensure!(!log.contains("cutting off requests"), "the watch held up the stop:\n{log}");
    daemon.start_again()?;
    let version = less.version;
    let anew =
        self::agent(&daemon)?.does(async move |agent| next(&mut agent.watch(&version).await?).await)??;
    ensure!(anew.is_all && anew.claims.len() == 1 && first(&anew.claims)?.name == "health", "{anew:?}");
    Ok(())
}

fn leased() -> anyhow::Result<()> {
    let (daemon, agent) = start(&own(""))?;
    let lease = |name: &str| tenure_rpc::v1::ClaimSpec { lease_seconds: 1, ..claim(name) };
    agent.ensures(lease("brief"))??;
    agent.ensures(claim("lasting"))??;
    wait::holds("the lease to run out", LIMIT, || Ok(agent.lists()??.len() == 1))?;
    ensure!(first(&agent.lists()??)?.name == "lasting", "the wrong one ran out");
    ensure!(daemon.allocations("pods")?.len() == 1, "its address is still held");
    Ok(())
}

fn socket() -> anyhow::Result<()> {
    let daemon = Daemon::start_with(NETWORK)?;
    let path = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    ensure!(!path.exists(), "there is no agent");
    daemon.configure(&own("[claims]\nsocket_mode = \"0660\"\n"))?;
    let reloaded = daemon.ctl(&["reload"])?;
    ensure!(reloaded.to_string().contains("claims.socket_mode"), "{reloaded}");
    wait::holds("the agents' socket", LIMIT, || Ok(path.exists()))?;
    let mode = |path: &std::path::Path| anyhow::Ok(std::fs::metadata(path)?.permissions().mode() & 0o777);
    ensure!(mode(&path)? == 0o600, "its mode changes with a restart");
    ensure!(mode(path.parent().context("no directory")?)? == 0o755, "its directory");
    // A directory of its own, so that a container need not see the other sockets.
    let beside: Vec<_> = std::fs::read_dir(path.parent().context("no directory")?)?.collect();
    ensure!(beside.len() == 1, "{beside:?}");
    daemon.configure(NETWORK)?;
    daemon.ctl(&["reload"])?;
    wait::holds("the socket to go", LIMIT, || Ok(!path.exists()))?;
    Ok(())
}
