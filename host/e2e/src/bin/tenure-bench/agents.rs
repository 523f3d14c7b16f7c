//! A steady load of ADDs beside an agent with many claims, alone and while watches of these are opened again and again.
//!
//! The watches use a thread and connections of their own, as agents do that reconnect: each resumes from the last version, reads the
//! first response and hangs up. Rounds with and without them alternate, so that a busy machine affects both.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use tenure_e2e::Daemon;
use tenure_rpc::client;
use tenure_rpc::v1::claims_client::ClaimsClient;
use tenure_rpc::v1::{ClaimSpec, DeclareClaimsRequest, WatchClaimsRequest, WatchClaimsResponse};
use tokio::runtime::Runtime;

use crate::load::{self, own_network};
use crate::times::Times;

/// The interval of the ADDs: 450 a second.
const PACE: Duration = Duration::from_nanos(2_222_222);
/// Rounds of each kind.
const ROUNDS: u32 = 4;

const NETWORK: &str = "bench-agents";
const CLAIMED: &str = "bench-claimed";

/// The measured values.
#[derive(Default)]
pub(crate) struct Agents {
    /// The ADDs without watches.
    pub(crate) alone: Times,
    /// The ADDs next to watches.
    pub(crate) watched: Times,
    /// How long it takes to connect, and to be told what is new.
    pub(crate) watch: Times,
    /// The daemon's resident memory with the claims before the watches and after them, in megabytes.
    pub(crate) memory: (f64, f64),
}

/// Measures `count` ADDs of each kind beside an agent with this number of claims, and spreads the watches over half of the ADDs.
pub(crate) fn measure(runtime: &Runtime, count: u32, claims: u32, watches: u32) -> anyhow::Result<Agents> {
    let mut daemon = Daemon::prepare()?;
    let uid = rustix::process::geteuid().as_raw();
    let network = format!("[networks.{CLAIMED}.ipam]\nranges = [[{{ subnet = \"10.8.0.0/16\" }}]]\n");
    let agent = format!("[agents.bench]\nuid = {uid}\nnetworks = [\"{CLAIMED}\"]\nclaims = {claims}\n");
    daemon.configure(&format!("{network}{agent}"))?;
    daemon.start_again()?;
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    runtime.block_on(load::churn(&daemon, &own_network(NETWORK), 1_000))?;
    runtime.block_on(declare(&socket, claims))?;

    let megabytes = |daemon: &Daemon| anyhow::Ok(daemon.rss()? as f64 * 1024.0 / 1e6);
    let (mut memory, mut alone, mut watched, mut watch) =
        ((megabytes(&daemon)?, 0.0), Vec::new(), Vec::new(), Vec::new());
    let (per_round, each) = (count / ROUNDS, watches / ROUNDS);
    for round in 0..ROUNDS {
        let paced = |kind: &str| {
            let prefix = format!("{kind}-{round}");
            runtime.block_on(load::steady(&daemon, NETWORK, &prefix, PACE, per_round))
        };
        alone.extend(paced("alone")?.took);
        let watching = Watching::start(socket.clone(), claims, each, PACE * per_round / each.max(1));
        watched.extend(paced("watched")?.took);
        watch.extend(watching.end()?);
    }
    memory.1 = megabytes(&daemon)?;
    Ok(Agents { alone: Times::new(alone), watched: Times::new(watched), watch: Times::new(watch), memory })
}

async fn declare(socket: &Path, claims: u32) -> anyhow::Result<()> {
    let mut client = ClaimsClient::new(client::connect(socket).await?);
    let spec = |number| ClaimSpec {
        network: CLAIMED.to_owned(),
        name: format!("claim-{number}"),
        ..ClaimSpec::default()
    };
    let request = DeclareClaimsRequest {
        claims: (0..claims).map(spec).collect(),
        wait_ms: 60_000,
        ..Default::default()
    };
    let declared = client.declare(request).await.map_err(|status| anyhow!("{status}"))?.into_inner();
    ensure!(declared.created.len() as u64 == u64::from(claims), "{} claims", declared.created.len());
    Ok(())
}

/// Opens watches at a steady pace.
struct Watching(JoinHandle<anyhow::Result<Vec<Duration>>>);

impl Watching {
    fn start(socket: PathBuf, claims: u32, count: u32, pace: Duration) -> Self {
        Self(std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(reconnect(&socket, claims, count, pace))
        }))
    }

    fn end(self) -> anyhow::Result<Vec<Duration>> {
        self.0.join().map_err(|_| anyhow!("the watches panicked"))?
    }
}

async fn reconnect(socket: &Path, claims: u32, count: u32, pace: Duration) -> anyhow::Result<Vec<Duration>> {
    // The first is told everything.
    let mut last = told(socket, String::new()).await?;
    ensure!(last.is_all && last.claims.len() as u64 == u64::from(claims), "{} claims", last.claims.len());
    let (first, mut took) = (Instant::now(), Vec::new());
    for number in 1..count {
        tokio::time::sleep((first + pace * number).saturating_duration_since(Instant::now())).await;
        let began = Instant::now();
        last = told(socket, last.version).await?;
        took.push(began.elapsed());
        ensure!(!last.is_all && last.claims.is_empty(), "nothing has changed");
    }
    Ok(took)
}

/// The first response of a watch that resumes from a version.
async fn told(socket: &Path, version: String) -> anyhow::Result<WatchClaimsResponse> {
    let mut client = ClaimsClient::new(client::connect(socket).await?);
    let watch = client.watch(WatchClaimsRequest { version, ..Default::default() }).await;
    let first = watch.map_err(|status| anyhow!("{status}"))?.into_inner().message().await;
    first.map_err(|status| anyhow!("{status}"))?.context("the watch has ended")
}
