//! A steady load of ADDs on a network whose claims an agent declares again all the time, and alone.
//!
//! The agent uses a thread and a connection of its own. Each declaration replaces the one before: it ends all claims, and makes as many
//! others. Rounds with and without declarations alternate, so that a busy machine affects both.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use tenure_e2e::Daemon;
use tenure_rpc::client;
use tenure_rpc::v1::claims_client::ClaimsClient;
use tenure_rpc::v1::{ClaimSpec, DeclareClaimsRequest};
use tokio::runtime::Runtime;

use crate::load::{self, own_network};
use crate::times::Times;

/// The interval of the ADDs: 450 a second.
const PACE: Duration = Duration::from_nanos(2_222_222);
/// Rounds of each kind.
const ROUNDS: u32 = 4;

const NETWORK: &str = "bench-declared";

/// The measured values.
#[derive(Default)]
pub(crate) struct Declared {
    /// The ADDs without declarations.
    pub(crate) alone: Times,
    /// The ADDs next to declarations.
    pub(crate) beside: Times,
    /// How long a declaration takes.
    pub(crate) declaration: Times,
    /// How many were made.
    pub(crate) declarations: usize,
}

/// Measures `count` ADDs of each kind, beside declarations of so many claims.
pub(crate) fn measure(runtime: &Runtime, count: u32, claims: u32) -> anyhow::Result<Declared> {
    let mut daemon = Daemon::prepare()?;
    let uid = rustix::process::geteuid().as_raw();
    let network = format!("[networks.{NETWORK}.ipam]\nranges = [[{{ subnet = \"10.64.0.0/10\" }}]]\n");
    let agent = format!("[agents.bench]\nuid = {uid}\nnetworks = [\"{NETWORK}\"]\nclaims = {claims}\n");
    daemon.configure(&format!("{network}{agent}"))?;
    daemon.start_again()?;
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    runtime.block_on(load::churn(&daemon, &own_network(NETWORK), 1_000))?;

    let (mut alone, mut beside, mut declarations) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let paced = |kind: &str| {
            let prefix = format!("{kind}-{round}");
            runtime.block_on(load::steady(&daemon, NETWORK, &prefix, PACE, count / ROUNDS))
        };
        alone.extend(paced("alone")?.took);
        let declaring = Declaring::start(socket.clone(), claims);
        beside.extend(paced("beside")?.took);
        declarations.extend(declaring.end()?);
    }
    Ok(Declared {
        alone: Times::new(alone),
        beside: Times::new(beside),
        declarations: declarations.len(),
        declaration: Times::new(declarations),
    })
}

/// Declares claims, one declaration after the other, until it ends.
struct Declaring {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<Vec<Duration>>>,
}

impl Declaring {
    fn start(socket: PathBuf, claims: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut client = ClaimsClient::new(client::connect(&socket).await?);
                let mut took = Vec::new();
                while !stopped.load(Ordering::Relaxed) || took.is_empty() {
                    let began = Instant::now();
                    let answer = client.declare(set(took.len() % 2, claims)).await;
                    let declared = answer.map_err(|status| anyhow!("{status}"))?.into_inner();
                    took.push(began.elapsed());
                    ensure!(declared.created.len() as u64 == u64::from(claims), "{declared:?}");
                }
                // The next round begins without claims.
                let none = DeclareClaimsRequest::default();
                client.declare(none).await.map_err(|status| anyhow!("{status}"))?;
                Ok(took)
            })
        });
        Self { stop, thread }
    }

    fn end(self) -> anyhow::Result<Vec<Duration>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the declarations panicked"))?
    }
}

/// One of two sets of claims that have none in common.
fn set(which: usize, claims: u32) -> DeclareClaimsRequest {
    let spec = |number| ClaimSpec {
        network: NETWORK.to_owned(),
        name: format!("claim-{which}-{number}"),
        ..ClaimSpec::default()
    };
    DeclareClaimsRequest { claims: (0..claims).map(spec).collect(), wait_ms: 60_000, ..Default::default() }
}
