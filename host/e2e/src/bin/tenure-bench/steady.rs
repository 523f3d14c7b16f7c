//! A steady load of 500 ADDs a second, alone and while the network's policy is exchanged again and again.
//!
//! Nine of ten ADDs go through one gRPC connection and are measured; the others are programs, with their DELs. The exchanges
//! use a connection of their own. Rounds with and without exchanges alternate, so that a busy machine affects both.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use tenure_e2e::Daemon;
use tenure_rpc::client;
use tenure_rpc::v1::ActivatePolicyRequest;
use tenure_rpc::v1::admin_client::AdminClient;
use tokio::runtime::Runtime;

use crate::exec::Subject;
use crate::load::{self, Paced, own_network};
use crate::metrics::{Page, SYNC};
use crate::times::Times;

/// The interval of the ADDs over gRPC: 450 a second.
const PACE: Duration = Duration::from_nanos(2_222_222);
/// The interval of the programs: 50 a second.
const PROGRAMS: Duration = Duration::from_millis(20);
/// Rounds of each kind.
const ROUNDS: u32 = 4;

const NETWORK: &str = "bench-steady";
const POLICIES: [&str; 2] = ["highest-first", "host-local"];

/// The measured values.
#[derive(Default)]
pub(crate) struct Steady {
    /// The ADDs without exchanges.
    pub(crate) alone: Times,
    /// How late those were sent: the bench's own share.
    pub(crate) late: Times,
    /// Below this are 99 of 100 syncs of the first round without exchanges, in microseconds.
    pub(crate) slow_sync: f64,
    /// The ADDs next to exchanges.
    pub(crate) exchanging: Times,
    /// How long an exchange takes, with the conformance suite.
    pub(crate) exchange: Times,
    /// By how much the daemon's resident memory has grown in the rounds without exchanges and in those with them, in megabytes: each
    /// ADD over gRPC leaves an allocation.
    pub(crate) grown: (f64, f64),
}

/// Measures `count` ADDs of each kind, and spreads `exchanges` over half of them.
pub(crate) fn measure(runtime: &Runtime, count: u32, exchanges: u32) -> anyhow::Result<Steady> {
    let mut daemon = Daemon::prepare()?;
    daemon.configure(&format!("[metrics]\nlisten = \"{}\"\n", daemon.metrics_address()))?;
    daemon.start_again()?;
    let config = own_network(NETWORK);
    runtime.block_on(load::churn(&daemon, &config, 1_000))?;

    let (mut measured, mut alone, mut late, mut exchanging, mut exchange) =
        (Steady::default(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let megabytes = |daemon: &Daemon| anyhow::Ok(daemon.rss()? as f64 * 1024.0 / 1e6);
    let (per_round, mut given) = (count / ROUNDS, BTreeSet::new());
    // Those pods are never deleted.
    let mut once = |addresses: Vec<String>| -> anyhow::Result<()> {
        addresses.into_iter().try_for_each(|address| {
            ensure!(!given.contains(&address), "{address} was given twice");
            given.insert(address);
            Ok(())
        })
    };
    for round in 0..ROUNDS {
        let mut memory = megabytes(&daemon)?;
        let mut grown = || {
            let before = std::mem::replace(&mut memory, megabytes(&daemon)?);
            anyhow::Ok(memory - before)
        };
        let programs = Programs::start(Subject::tenure(&daemon, vec![config.clone()])?);
        let before = Page::read(&daemon)?;
        let round_alone = paced(runtime, &daemon, &format!("alone-{round}"), per_round)?;
        if round == 0 {
            measured.slow_sync = Page::read(&daemon)?.p99_since(&before, SYNC);
        }
        measured.grown.0 += grown()?;
        once(round_alone.addresses)?;
        alone.extend(round_alone.took);
        late.extend(round_alone.late);

        let each = exchanges / ROUNDS;
        let exchanger = Exchanger::start(&daemon, each, PACE * per_round / each.max(1));
        let beside = paced(runtime, &daemon, &format!("exchanging-{round}"), per_round)?;
        once(beside.addresses)?;
        exchanging.extend(beside.took);
        exchange.extend(exchanger.end()?);
        measured.grown.1 += grown()?;
        programs.stop()?;
    }
    (measured.alone, measured.late) = (Times::new(alone), Times::new(late));
    (measured.exchanging, measured.exchange) = (Times::new(exchanging), Times::new(exchange));
    Ok(measured)
}

/// One round of ADDs over gRPC.
fn paced(runtime: &Runtime, daemon: &Daemon, prefix: &str, count: u32) -> anyhow::Result<Paced> {
    runtime.block_on(load::steady(daemon, NETWORK, prefix, PACE, count))
}

/// Programs that add and delete a pod at a steady pace.
struct Programs {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl Programs {
    fn start(subject: Subject) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let began = Instant::now();
                subject.once(|| Ok(()))?;
                std::thread::sleep(PROGRAMS.saturating_sub(began.elapsed()));
            }
            Ok(())
        });
        Self { stop, thread }
    }

    fn stop(self) -> anyhow::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the programs panicked"))?
    }
}

/// Exchanges the network's policy at a steady pace.
struct Exchanger(JoinHandle<anyhow::Result<Vec<Duration>>>);

impl Exchanger {
    fn start(daemon: &Daemon, count: u32, pace: Duration) -> Self {
        let socket = daemon.run_directory().join("admin.sock");
        Self(std::thread::spawn(move || exchange(&socket, count, pace)))
    }

    fn end(self) -> anyhow::Result<Vec<Duration>> {
        self.0.join().map_err(|_| anyhow!("the exchanges panicked"))?
    }
}

fn exchange(socket: &Path, count: u32, pace: Duration) -> anyhow::Result<Vec<Duration>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut admin = AdminClient::new(client::connect(socket).await?);
        let (first, mut took) = (Instant::now(), Vec::new());
        for (number, policy) in (0..count).zip(POLICIES.into_iter().cycle()) {
            tokio::time::sleep((first + pace * number).saturating_duration_since(Instant::now())).await;
            let request = ActivatePolicyRequest {
                network: NETWORK.to_owned(),
                policy: policy.to_owned(),
                ..ActivatePolicyRequest::default()
            };
            let began = Instant::now();
            let answer = admin.activate_policy(request).await.map_err(|status| anyhow!("{status}"))?;
            took.push(began.elapsed());
            let after = answer.into_inner().after.map(|after| after.name);
            ensure!(after.as_deref() == Some(policy), "{policy} was activated, and {after:?} serves");
        }
        Ok(took)
    })
}
