//! The identity of an agent, however the process that connected ends, and the most that one agent may take of the daemon.

#[path = "agents/agent.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod agent;
#[path = "peers/child.rs"]
mod child;
#[path = "peers/handed.rs"]
mod handed;
#[path = "peers/kubelet.rs"]
mod kubelet;
#[path = "peers/old_kernel.rs"]
mod old_kernel;
#[path = "peers/unread.rs"]
mod unread;

use std::fs;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use agent::{Agent, Connected, addresses, claim, next};
use anyhow::{Context, bail, ensure};
use child::{Place, Role, claims, made, pass, run};
use handed::handed;
use kubelet::{PodGroup, Runtime};
use rustix::net::RecvFlags;
use rustix::process::Signal;
use serde_json::Value;
use tenure_e2e::{Daemon, Need, Suite, wait};
use tenure_rpc::v1::admin_client::AdminClient;
use tenure_rpc::v1::{ClaimSpec, ListAllClaimsRequest};
use tenure_types::{Error, ErrorCode};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

const NETWORK: &str = "[networks.pods.ipam]\nranges = [[{ subnet = \"10.91.0.0/22\" }]]\n";

/// The groups of two agents.
const ONE: u32 = 42_001;
const OTHER: u32 = 42_002;

/// The most watches, calls and connections, as the daemon bounds them.
const MOST_WATCHES: usize = 256;
const MOST_WAITING: usize = 256;
const MOST_CONNECTIONS: usize = 128;

fn main() -> ExitCode {
    if let Some(played) = child::play().or_else(old_kernel::play) {
        return played;
    }
    Suite::new()
        .test("who_is_given_a_connection_acts_as_its_maker_and_as_no_other", &[Need::Root], passed_on)
        .test("a_pod_is_known_by_its_control_group_and_a_reused_process_id_by_nothing", &[Need::Root], pods)
        .test("an_older_kernel_tells_a_pod_by_its_number", &[Need::Root], old_kernel::pods)
        .test("an_agent_has_a_bounded_number_of_watches_calls_and_connections", &[], bounded)
        .test("a_watch_that_is_not_read_is_cut_off_and_not_buffered_for", &[], unread::buffered)
        .test("what_is_not_read_holds_up_neither_a_reload_nor_a_stop", &[], unread::at_the_end)
        .test("what_the_daemon_takes_back_is_told", &[], taken_back)
        .test("agents_can_ask_for_health_and_for_the_protocol", &[], described)
        .run()
}

fn start(config: &str) -> anyhow::Result<(Daemon, Agent)> {
    let daemon = Daemon::start_with(config)?;
    let agent = Agent::at(&daemon.run_directory());
    wait::holds("the agents' socket", LIMIT, || {
        Ok(agent.lists()?.map_or_else(|error| error.code != ErrorCode::Unreachable, |_| true))
    })?;
    wait::holds("the network", LIMIT, || Ok(!daemon.networks()?.is_empty()))?;
    Ok((daemon, agent))
}

/// The configuration of one agent: the user who runs the test.
fn own(networks: &str) -> String {
    let uid = rustix::process::geteuid().as_raw();
    format!("{NETWORK}[agents.cilium]\nuid = {uid}\nnetworks = [\"{networks}\"]\nclaims = 256\n")
}

/// The agents that have claims.
fn agents(daemon: &Daemon) -> anyhow::Result<Vec<String>> {
    let claims = daemon.ctl(&["claims"])?;
    let all = claims.pointer("/claims").and_then(Value::as_array).context("no list")?;
    let agent = |claim: &Value| Some(claim.pointer("/agent")?.as_str()?.to_owned());
    Ok(all.iter().filter_map(agent).collect())
}

fn passed_on() -> anyhow::Result<()> {
    let table = |name: &str, gid: u32| format!("[agents.{name}]\ngid = {gid}\nnetworks = [\"pods\"]\n");
    let (daemon, _) = start(&format!("{NETWORK}{}{}", table("one", ONE), table("other", OTHER)))?;
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);

    // The maker lives while another one uses its connection, and has ended when a third one does.
    let (maker, connection) = made(&Place::group(ONE), &socket)?;
    let (ours, theirs) = UnixStream::pair()?;
    pass(&ours, &connection)?;
    let address = run(Role::Receives, &Place::group(OTHER), &socket, theirs.into())?;
    ensure!(
        address.starts_with("10.91.") && agents(&daemon)? == ["one"],
        "{address}: {:?}",
        agents(&daemon)?
    );
    drop(connection);
    maker.end()?;

    let (maker, connection) = made(&Place::group(ONE), &socket)?;
    maker.end()?;
    let again = run(Role::Inherits, &Place::group(OTHER), &socket, OwnedFd::from(connection))?;
    ensure!(again == address && agents(&daemon)? == ["one"], "{again}: {:?}", agents(&daemon)?);

    // Over a connection of its own, it is itself; and a caller that is not an agent remains one.
    let other = claims(&Place::group(OTHER), &socket)?;
    ensure!(other != address && agents(&daemon)? == ["one", "other"], "{other}: {:?}", agents(&daemon)?);
    let (maker, connection) = made(&Place::default(), &socket)?;
    let refused = run(Role::Inherits, &Place::group(ONE), &socket, OwnedFd::from(connection))?;
    ensure!(refused == "agent-unknown", "{refused}");
    maker.end()
}

fn pods() -> anyhow::Result<()> {
    // No other pod of this machine has such uids.
    let uid = |number: u32| format!("0e2e{:04x}-0000-4000-8000-{number:012}", std::process::id() & 0xffff);
    let (of_cilium, of_other) = (uid(1), uid(2));
    let mut daemon = Daemon::prepare()?;
    let runtime = daemon.path("cri.sock");
    let _runtime = Runtime::serve(&runtime, &[(&of_cilium, "cilium-x7"), (&of_other, "other-0")])?;
    let table =
        |name: &str| format!("[agents.{name}]\npod = \"kube-system/{name}-*\"\nnetworks = [\"pods\"]\n");
    let socket = format!("[runtime]\nsocket = \"unix://{}\"\n", runtime.display());
    daemon.configure(&format!("{NETWORK}{}{}{socket}", table("cilium"), table("other")))?;
    daemon.start_again()?;
    wait::holds("the network", LIMIT, || Ok(!daemon.networks()?.is_empty()))?;
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    wait::holds("the agents' socket", LIMIT, || Ok(UnixStream::connect(&socket).is_ok()))?;
    let (cilium, other) = (PodGroup::make(&of_cilium)?, PodGroup::make(&of_other)?);

    let address = claims(&Place::cgroup(&cilium.procs()), &socket)?;
    ensure!(address.starts_with("10.91.") && agents(&daemon)? == ["cilium"], "{address}");
    let outside = claims(&Place::default(), &socket)?;
    ensure!(outside == "agent-unknown", "{outside}");

    // Once it is accepted, a connection is its maker's, even after that has ended.
    let (maker, connection) = made(&Place::cgroup(&cilium.procs()), &socket)?;
    accepted(&connection)?;
    maker.end()?;
    let told = handed(connection, async |agent| agent.ensure(claim("router"), 0).await)??;
    ensure!(told == [address], "{told:?}");

    // A maker that is gone before it is accepted is nobody, even if a process of another agent has its id by then.
    daemon.signal(Signal::STOP)?;
    let (maker, connection) = made(&Place::cgroup(&cilium.procs()), &socket)?;
    let pid = maker.pid();
    maker.end()?;
    let reused = process_with(pid, &other.procs());
    daemon.signal(Signal::CONT)?;
    let mut reused = reused?;
    let told = handed(connection, async |agent| agent.ensure(claim("router"), 0).await)?;
    reused.kill()?;
    reused.wait()?;
    ensure!(told.as_ref().is_err_and(|error| error.code == ErrorCode::AgentUnknown), "{told:?}");
    ensure!(agents(&daemon)? == ["cilium"], "{:?}", agents(&daemon)?);
    Ok(())
}

/// Waits until the daemon has accepted a connection: then it sends its settings at once.
fn accepted(connection: &UnixStream) -> anyhow::Result<()> {
    connection.set_read_timeout(Some(LIMIT))?;
    let (read, _) = rustix::net::recv(connection, &mut [0; 1], RecvFlags::PEEK)?;
    ensure!(read == 1, "the daemon has closed the connection");
    Ok(())
}

/// Starts a process with this id, in a control group.
fn process_with(pid: u32, procs: &Path) -> anyhow::Result<Child> {
    for _ in 0..2_000 {
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string())?;
        let mut child = Command::new("sleep").arg("600").spawn()?;
        if child.id() == pid {
            fs::write(procs, pid.to_string())?;
            return Ok(child);
        }
        child.kill()?;
        child.wait()?;
    }
    bail!("no process got the id {pid}")
}

/// Streams or calls that are open until this is dropped.
struct Open {
    ends: Vec<oneshot::Sender<()>>,
    threads: Vec<JoinHandle<anyhow::Result<Result<(), Error>>>>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.ends.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The connections over which an agent opens many streams: one has room for fewer than an agent may have.
const PARTS: usize = 4;

impl Open {
    /// Opens the most watches that an agent may have.
    fn watches(agent: &Agent) -> anyhow::Result<Self> {
        Self::all(agent, &async |agent| {
            let mut watches = Vec::new();
            for _ in 0..MOST_WATCHES / PARTS {
                let mut watch = agent.watch("").await?;
                next(&mut watch).await?;
                watches.push(watch);
            }
            Ok(watches)
        })
    }

    /// Begins the most calls of an agent that may wait for a network.
    fn calls(agent: &Agent) -> anyhow::Result<Self> {
        Self::all(agent, &async |agent| {
            let nowhere = ClaimSpec { network: "nowhere".to_owned(), ..claim("router") };
            let mut calls = JoinSet::new();
            for _ in 0..MOST_WAITING / PARTS {
                let (mut agent, nowhere) = (Connected(agent.0.clone()), nowhere.clone());
                // A call of ours that is in flight just then has the last place for a moment.
                calls.spawn(async move {
                    while is_overloaded(&agent.ensure(nowhere.clone(), 300_000).await) {
                        tokio::task::yield_now().await;
                    }
                });
            }
            Ok(calls)
        })
    }

    fn all<T: 'static>(
        agent: &Agent,
        opens: &(impl AsyncFn(&mut Connected) -> Result<T, Error> + Clone + Send + 'static),
    ) -> anyhow::Result<Self> {
        let mut open = Self { ends: Vec::new(), threads: Vec::new() };
        for _ in 0..PARTS {
            let (agent, opens) = (agent.clone(), opens.clone());
            let (end, ended) = oneshot::channel();
            let (opened, told) = mpsc::channel();
            open.ends.push(end);
            open.threads.push(std::thread::spawn(move || {
                agent.does_here(async move |agent| {
                    let all = opens(agent).await?;
                    let _ = opened.send(());
                    let _ = ended.await;
                    drop(all);
                    Ok(())
                })
            }));
            told.recv_timeout(LIMIT).context("not all could be opened")?;
        }
        Ok(open)
    }
}

/// A connection that the daemon serves; `None` if it closes it.
fn served(socket: &Path) -> anyhow::Result<Option<UnixStream>> {
    let connection = UnixStream::connect(socket)?;
    connection.set_read_timeout(Some(LIMIT))?;
    // Over one that it serves, the server first sends its settings.
    Ok(((&connection).read(&mut [0; 64])? > 0).then_some(connection))
}

fn is_overloaded<T>(told: &Result<T, Error>) -> bool {
    told.as_ref().is_err_and(|error| error.code == ErrorCode::Overloaded)
}

/// One more watch, for a moment.
fn another_watch(agent: &Agent) -> anyhow::Result<Result<(), Error>> {
    agent.does(async |agent| agent.watch("").await.map(drop))
}

fn bounded() -> anyhow::Result<()> {
    let (daemon, agent) = start(&own("*"))?;
    agent.ensures(claim("router"))??;
    let watches = Open::watches(&agent)?;
    let more = another_watch(&agent)?;
    ensure!(is_overloaded(&more), "{more:?}");
    ensure!(agent.lists()?.is_ok(), "other calls are none of that");
    drop(watches);
    wait::holds("room for another watch", LIMIT, || Ok(another_watch(&agent)?.is_ok()))?;

    let calls = Open::calls(&agent)?;
    let nowhere = || ClaimSpec { network: "nowhere".to_owned(), ..claim("router") };
    let waits = || agent.does(async move |agent| agent.ensure(nowhere(), 1).await);
    // Before that, there are too many that work.
    wait::holds("the calls to wait", LIMIT, || {
        Ok(waits()?.is_err_and(|error| error.cause.contains("that wait for a network")))
    })?;
    ensure!(agent.lists()?.is_ok(), "calls that wait hold up one that does not");
    ensure!(another_watch(&agent)?.is_ok(), "watches are none of that");
    drop(calls);
    wait::holds("room for another call", LIMIT, || Ok(!is_overloaded(&waits()?)))?;

    // Each connection costs the daemon a file descriptor.
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    let mut open = Vec::new();
    // Earlier ones may not have ended yet.
    while let Some(connection) = served(&socket)? {
        open.push(connection);
        ensure!(open.len() <= MOST_CONNECTIONS, "another connection is served");
    }
    daemon.ctl(&["status"])?;
    drop(open);
    wait::holds("room for another connection", LIMIT, || Ok(agent.lists()?.is_ok()))
}

fn taken_back() -> anyhow::Result<()> {
    let (daemon, agent) = start(&own("pods"))?;
    let brief = ClaimSpec { lease_seconds: 1, ..claim("brief") };
    agent.ensures(brief)??;
    let address = agent.ensures(claim("router"))??;
    let (sender, told) = mpsc::channel();
    let watching = agent.clone();
    let watcher = std::thread::spawn(move || {
        watching.does(async move |agent| {
            let mut watch = agent.watch("").await?;
            loop {
                let response = next(&mut watch).await?;
                let is_last = response.claims.iter().any(|claim| claim.addresses.iter().any(|a| a.leaving));
                let _ = sender.send(response);
                if is_last {
                    return Ok(());
                }
            }
        })
    });
    ensure!(told.recv_timeout(LIMIT)?.claims.len() == 2, "the first response");
    // The operator's new ranges: the address stays, and the agent hears that it should claim another.
    daemon.configure(&own("pods").replace("10.91.0.0/22", "10.92.0.0/22"))?;
    daemon.ctl(&["reload"])?;
    let changed = told.recv_timeout(LIMIT)?;
    ensure!(changed.claims.iter().any(|claim| addresses(claim) == address), "{changed:?}");
    watcher.join().map_err(|_| anyhow::anyhow!("the watcher panicked"))???;

    // Once nobody watches, the lease runs out. Who comes back hears of it.
    wait::holds("the lease to run out", LIMIT, || Ok(agent.lists()??.len() == 1))?;
    let version = changed.version;
    let ended = agent.does(async move |agent| next(&mut agent.watch(&version).await?).await)??;
    let reasons: Vec<_> = ended.ended.iter().map(|ended| ended.reason.as_str()).collect();
    ensure!(!ended.is_all && matches!(&reasons[..], [only] if only.starts_with("lapsed")), "{ended:?}");
    Ok(())
}

fn described() -> anyhow::Result<()> {
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_check_response::ServingStatus;
    use tonic_health::pb::health_client::HealthClient;
    use tonic_reflection::pb::v1::ServerReflectionRequest;
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

    let (daemon, _) = start(&own("pods"))?;
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    wait::holds("the daemon to be healthy", LIMIT, || {
        runtime.block_on(async {
            let channel = tenure_rpc::client::connect(&socket).await?;
            let health = HealthClient::new(channel).check(HealthCheckRequest::default()).await?;
            Ok(health.into_inner().status() == ServingStatus::Serving)
        })
    })?;
    runtime.block_on(async {
        let channel = tenure_rpc::client::connect(&socket).await?;
        let question = MessageRequest::FileContainingSymbol("tenure.v1.Claims.Watch".to_owned());
        let question =
            ServerReflectionRequest { message_request: Some(question), ..ServerReflectionRequest::default() };
        let questions = futures_util::stream::iter([question]);
        let mut answers =
            ServerReflectionClient::new(channel).server_reflection_info(questions).await?.into_inner();
        let answer = answers.message().await?.and_then(|answer| answer.message_response);
        ensure!(matches!(answer, Some(MessageResponse::FileDescriptorResponse(_))), "{answer:?}");
        // Another socket's services are not there.
        let admin = AdminClient::new(tenure_rpc::client::connect(&socket).await?)
            .list_all_claims(ListAllClaimsRequest::default())
            .await;
        ensure!(
            admin.is_err_and(|status| status.code() == tonic::Code::Unimplemented),
            "agents may administrate"
        );
        Ok(())
    })
}
