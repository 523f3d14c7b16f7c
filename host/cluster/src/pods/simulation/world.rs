//! A history: a kubelet that makes and ends pods in every order, people who delete them by force, and faults.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_engine::Del;
use tenure_fixtures::random::Random;
use tokio::time::{Instant, sleep};

use super::Planted;
use super::agent::Agent;
use super::pod::PodSandbox;
use super::runtime::ContainerRuntime;
use super::server::ApiServer;

mod faults;
mod kubelet;
mod promises;

/// The longest time in which everything settles: the longest pause of a question, that of a call without an answer, a grace period, and the looks.
const SETTLES_WITHIN: Duration = Duration::from_secs(1000 + 150 + 60 + 90);

/// The time after which what one witness alone misses is in quarantine: a quarter of an hour, and the looks.
const QUARANTINED_WITHIN: Duration = Duration::from_secs(900 + 90);

/// The counts of a history.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct HistoryTally {
    pub(super) sandboxes: u64,
    pub(super) reclaimed: u64,
    pub(super) quarantined: u64,
    pub(super) restarts: u64,
    pub(super) reads: u64,
    pub(super) lists_cut: u64,
    /// Seconds until everything had settled.
    pub(super) settled_after: u64,
}

/// A node.
pub(super) struct PodWorld {
    pub(super) random: Random,
    pub(super) server: Arc<ApiServer>,
    pub(super) runtime: Arc<ContainerRuntime>,
    pub(super) agent: Agent,
    pub(super) directory: tempfile::TempDir,
    /// The sandboxes that exist, by their numbers.
    pub(super) sandboxes: BTreeMap<u64, PodSandbox>,
    /// The DELs that a runtime still has to send for sandboxes that are gone.
    pub(super) late: Vec<Del>,
    pub(super) numbers: u64,
    /// The ends of the API server's and of the runtime's faults.
    pub(super) api_fails_until: Instant,
    pub(super) runtime_fails_until: Instant,
    /// The runtime lists everything at least until then.
    pub(super) lists_until: Instant,
    pub(super) tally: HistoryTally,
}

impl PodWorld {
    pub(super) fn new(planted: Option<Planted>, seed: u64) -> Self {
        let (server, runtime) = (Arc::new(ApiServer::new()), Arc::new(ContainerRuntime::new(planted)));
        let (agent, now) = (Agent::new(&server, &runtime, planted), Instant::now());
        Self {
            random: Random::new(seed),
            server,
            runtime,
            agent,
            directory: tempfile::tempdir().unwrap(),
            sandboxes: BTreeMap::new(),
            late: Vec::new(),
            numbers: 0,
            api_fails_until: now,
            runtime_fails_until: now,
            lists_until: now,
            tally: HistoryTally::default(),
        }
    }

    /// Lives through a history of so many steps, each with a pause of 2.6 s on average, and until it has settled.
    ///
    /// # Errors
    /// The promise that was broken.
    pub(super) async fn run(mut self, steps: u64) -> Result<HistoryTally, String> {
        self.restart();
        for step in 0..steps {
            let pause = 100 + self.random.below(5000);
            sleep(Duration::from_millis(pause)).await;
            let at = |broken| format!("at step {step}: {broken}");
            // What was lost must not be given back by a step before it is noticed.
            self.check().await.map_err(at)?;
            self.step().await;
            self.check().await.map_err(at)?;
        }
        self.settle().await?;
        self.rest().await?;
        let reports = &self.agent.reports;
        self.tally.reclaimed = reports.reclaimed.load(Ordering::Relaxed);
        self.tally.quarantined = reports.quarantined.load(Ordering::Relaxed);
        let state = self.server.state();
        (self.tally.reads, self.tally.lists_cut) = (state.gets, state.lists_cut);
        drop(state);
        Ok(self.tally)
    }

    async fn step(&mut self) {
        self.make().await;
        self.end_faults();
        match self.random.below(100) {
            0..24 => self.create_pod().await,
            24..30 => self.end_in_order().await,
            30..42 => self.end_without_del(),
            42..50 => self.delete_by_force(),
            50..53 => self.finish(),
            53..57 => self.lose_sandbox(),
            57..62 => self.replace_sandbox().await,
            62..70 => self.repeat_add().await,
            70..73 => self.send_late_del().await,
            73..76 => self.change_mirror(),
            76..83 => self.break_api(),
            83..87 => self.break_watch(),
            87..91 => self.break_lists(),
            91..96 => self.break_runtime(),
            96..98 => self.restart(),
            _ => self.end_all_faults(),
        }
        self.shorten_lies();
    }

    /// Ends all faults, and waits until nothing is left of them.
    async fn settle(&mut self) -> Result<(), String> {
        self.end_all_faults();
        let begin = Instant::now();
        self.all_made().await?;
        self.delete_lost();
        loop {
            sleep(Duration::from_secs(10)).await;
            self.check().await.map_err(|broken| format!("while it settles: {broken}"))?;
            let unsettled = self.unsettled().await;
            if unsettled.is_empty() {
                self.tally.settled_after = begin.elapsed().as_secs();
                return Ok(());
            }
            if begin.elapsed() > SETTLES_WITHIN {
                return Err(format!("it does not settle: {unsettled:?}"));
            }
        }
    }

    /// Makes some more pods, and goes on without faults: those that are deleted by force while they run are in quarantine in the end.
    async fn rest(&mut self) -> Result<(), String> {
        for _ in 0..4 {
            self.create_pod().await;
        }
        self.all_made().await?;
        for _ in 0..2 {
            self.delete_by_force();
        }
        let begin = Instant::now();
        while begin.elapsed() < QUARANTINED_WITHIN {
            sleep(Duration::from_secs(10)).await;
            self.check().await.map_err(|broken| format!("while it rests: {broken}"))?;
        }
        let mut wrong = self.unsettled().await;
        wrong.extend(self.undoubted().await);
        if wrong.is_empty() { Ok(()) } else { Err(format!("it does not rest: {wrong:?}")) }
    }

    /// Waits until each sandbox is made.
    async fn all_made(&mut self) -> Result<(), String> {
        while self.sandboxes.values().any(|sandbox| sandbox.listed.is_none()) {
            sleep(Duration::from_secs(5)).await;
            self.make().await;
            self.check().await?;
        }
        Ok(())
    }

    /// One of the sandboxes that satisfy a condition.
    fn pick(&mut self, is_meant: impl Fn(&PodSandbox) -> bool) -> Option<u64> {
        let meant = self.sandboxes.iter().filter(|(_, sandbox)| is_meant(sandbox));
        let meant: Vec<u64> = meant.map(|(number, _)| *number).collect();
        let index = self.random.below(meant.len() as u64);
        meant.get(usize::try_from(index).unwrap()).copied()
    }

    fn seconds(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_secs(least + self.random.below(most - least + 1))
    }
}

impl AddAssign for HistoryTally {
    fn add_assign(&mut self, other: Self) {
        self.sandboxes += other.sandboxes;
        self.reclaimed += other.reclaimed;
        self.quarantined += other.quarantined;
        self.restarts += other.restarts;
        self.reads += other.reads;
        self.lists_cut += other.lists_cut;
        self.settled_after = self.settled_after.max(other.settled_after);
    }
}
