//! The agent: its ledger, which lives for the whole history, and the process that looks for leaks, which is restarted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use kube::Client;
use kube::runtime::watcher::Event;
use tenure_engine::{Engine, Ports, Settings};
use tenure_fixtures::ports::{ManualJournal, NoLinks, Silent, policy, settings};
use tenure_ledger::LedgerState;
use tenure_runtime::{Leaks, Sandboxes};
use tenure_types::{BootId, Clock, Moment};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::super::{PodWatch, PodsOfNode};
use super::Planted;
use super::door::{ReportCounts, SimulatedDoor};
use super::runtime::ContainerRuntime;
use super::server::ApiServer;
use super::service::ApiService;

/// The grace period.
pub(super) const GRACE: Duration = Duration::from_secs(60);

/// The time since 1970 at which the node boots, in milliseconds.
const BOOTED_MS: u64 = 1_764_000_000_000;

/// The paused clock of tokio, of which no two readings are the same.
pub(super) struct PausedClock {
    start: Instant,
    readings: AtomicU64,
}

impl Clock for PausedClock {
    fn now(&self) -> Moment {
        let since = self.monotonic() + Duration::from_nanos(self.readings.fetch_add(1, Ordering::Relaxed));
        let (boot_ns, ms) = (since.as_nanos().try_into().unwrap(), u64::try_from(since.as_millis()).unwrap());
        Moment { boot_ns, wall_ms: BOOTED_MS + ms }
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed() + Duration::from_secs(1)
    }
}

/// The agent.
pub(super) struct Agent {
    pub(super) engine: Arc<Engine>,
    pub(super) clock: Arc<PausedClock>,
    pub(super) reports: Arc<ReportCounts>,
    server: Arc<ApiServer>,
    runtime: Arc<ContainerRuntime>,
    planted: Option<Planted>,
    process: Option<AbortHandle>,
}

impl Agent {
    pub(super) fn new(
        server: &Arc<ApiServer>,
        runtime: &Arc<ContainerRuntime>,
        planted: Option<Planted>,
    ) -> Self {
        let clock = Arc::new(PausedClock { start: Instant::now(), readings: AtomicU64::new(0) });
        let ports = Ports {
            clock: Arc::clone(&clock) as _,
            catalogue: policy::catalogue(),
            journal: Arc::new(ManualJournal::default()),
            links: Arc::new(NoLinks),
            observer: Arc::new(Silent),
        };
        let settings = Settings { nearly_full_percent: 100, ..settings() };
        let (engine, _) = Engine::new(LedgerState::default(), ports, settings);
        let (server, runtime) = (Arc::clone(server), Arc::clone(runtime));
        Self { engine, clock, reports: Arc::default(), server, runtime, planted, process: None }
    }

    /// Starts the process, after the end of the one before; `seed` is that of its watch's pauses.
    pub(super) fn start(&mut self, run_dir: &Path, seed: u64) {
        if let Some(process) = self.process.take() {
            process.abort();
        }
        self.server.state().shown.clear();
        let client = Client::new(ApiService(Arc::clone(&self.server)), "default");
        let witness = Arc::new(PodsOfNode::new(client.clone()));
        let mut watch = PodWatch::new(client, "n1", Arc::clone(&witness)).seeded(seed);
        let door = SimulatedDoor {
            witness: Arc::clone(&witness),
            reports: Arc::clone(&self.reports),
            runtime: Arc::clone(&self.runtime),
            engine: Arc::clone(&self.engine),
            planted: self.planted,
        };
        let sandboxes = Sandboxes::listed_by(Arc::clone(&self.runtime) as _).with_pods(Some(Arc::new(door)));
        let sandboxes = Arc::new(sandboxes);
        self.engine.prove_predecessors(Arc::clone(&sandboxes) as _);
        let grace = match self.planted {
            Some(Planted::FirstSight) => Duration::ZERO,
            Some(Planted::NoGrace) => Duration::from_nanos(1),
            _ => GRACE,
        };
        let leaks =
            Leaks::new(Arc::clone(&self.engine), sandboxes, Arc::clone(&self.clock) as _, move || grace);
        let mut leaks = leaks.kept_in(run_dir, &BootId("boot".to_owned()));
        let cuts_lists = self.planted == Some(Planted::CutListIsComplete);
        let process = tokio::spawn(async move {
            match cuts_lists {
                true => tokio::join!(leaks.watch(), follow_cut_lists(&watch, &witness)),
                false => tokio::join!(leaks.watch(), watch.follow()),
            }
        });
        self.process = Some(process.abort_handle());
    }
}

/// As [`PodWatch::follow`], with a fault: a list that is cut off counts as complete.
async fn follow_cut_lists(watch: &PodWatch, pods: &PodsOfNode) {
    let (mut events, mut is_listing) = (watch.events(), false);
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                is_listing = matches!(event, Event::InitApply(_));
                pods.follow(event);
            }
            Err(_) if std::mem::take(&mut is_listing) => pods.follow(Event::InitDone),
            Err(error) => pods.interrupted(&error),
        }
    }
}
