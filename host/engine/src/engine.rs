//! The engine: the state and the helpers that all verbs share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::Duration;

use tenure_conditions::Conditions;
use tenure_ledger::LedgerState;
use tenure_types::{AgentName, Error, Moment, NetworkName, Owner};
use tokio::sync::Notify;

use crate::admission::Admission;
use crate::bounds::Bounds;
use crate::claims::{Feed, Heard, Turns, Witnessed};
use crate::committer::Committer;
use crate::delegates::Delegates;
use crate::effects::Demands;
use crate::live::{Reports, Runs, Shadows, Vetting};
use crate::lock::hold;
use crate::networks::Networks;
use crate::ports::{
    Catalogue, Clock, Compared, Decision, DelRecord, Images, Journal, Links, Observer, OtherIpams, ServedDel,
};
use crate::slot::Served;
use crate::snapshots::Snapshots;
use crate::strikes::Strikes;
use crate::undo::{self, Abandoned};

/// The ports that the engine is plugged into.
#[derive(Clone)]
pub struct Ports {
    /// The time source.
    pub clock: Arc<dyn Clock>,
    /// Looks up and loads policies.
    pub catalogue: Arc<dyn Catalogue>,
    /// Makes facts durable.
    pub journal: Arc<dyn Journal>,
    /// Makes the links of attachments that ask for one.
    pub links: Arc<dyn Links>,
    /// Receives the outcome of each request.
    pub observer: Arc<dyn Observer>,
}

/// The operator's settings; they can change while the engine serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long a freed address stays in cooldown.
    pub cooldown: Duration,
    /// The share of a pool, in percent, from which on it is nearly full while somebody holds that much; 100 for never.
    pub nearly_full_percent: u8,
    /// The maximum number of requests served at once.
    pub in_flight: usize,
    /// The maximum number of requests that wait beyond that; more are refused.
    pub queue: usize,
    /// The maximum number of networks.
    pub networks: usize,
    /// The bounds on what networks and policies may hand out.
    pub bounds: Arc<Bounds>,
    /// How a policy is watched after its exchange.
    pub exchange: ExchangeSettings,
    /// For how long an agent's claim is reserved for it after a reboot.
    pub reserved: Duration,
    /// The agents of the configuration; `None` if it is not known which there are.
    pub agents: Option<BTreeSet<AgentName>>,
}

impl Settings {
    /// Whether an agent is configured, or may be.
    pub(crate) fn has_agent(&self, agent: &AgentName) -> bool {
        self.agents.as_ref().is_none_or(|agents| agents.contains(agent))
    }
}

/// How a policy is watched after its exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeSettings {
    /// How long; zero means not at all.
    pub watch: Duration,
    /// The policy is rolled back when more than this percentage of its answers are worse than those of the policy before.
    pub worse_percent: u32,
}

impl Default for ExchangeSettings {
    fn default() -> Self {
        Self { watch: Duration::from_secs(300), worse_percent: 1 }
    }
}

/// Serves requests. A node has one engine.
pub struct Engine {
    pub(crate) ports: Ports,
    pub(crate) committer: Arc<Committer>,
    /// A `std::sync::Mutex`, held only to copy the `Arc`; a configuration reload replaces the value.
    settings: Mutex<Arc<Settings>>,
    pub(crate) networks: Arc<Networks>,
    pub(crate) admission: Arc<Admission>,
    /// Held while a network's ranges are compared with those of the other networks and then changed, so that
    /// exclusive ranges cannot come to overlap. Taken before any network's state, because the holder locks the states
    /// of the other networks.
    defining: Mutex<()>,
    pub(crate) undo: undo::Sender,
    pub(crate) strikes: Strikes,
    /// Requests and facts for the shadows.
    pub(crate) shadows: Arc<Shadows>,
    /// The reports of the shadow runs. A `std::sync::Mutex`, held to read and to replace them.
    pub(crate) reports: Mutex<Reports>,
    /// Notified when [`tend`](Self::tend) has something to do.
    pub(crate) due: Notify,
    /// The shadow runs, which belong to the one caller that tends.
    pub(crate) tending: tokio::sync::Mutex<Runs>,
    /// Which policies have passed the conformance suite, and which are to be checked.
    pub(crate) vetting: Vetting,
    /// Held while a policy is loaded or unloaded.
    pub(crate) loading: tokio::sync::Mutex<()>,
    pub(crate) conditions: Arc<Conditions>,
    /// A `std::sync::RwLock`, held only to copy the `Arc`.
    pub(crate) others: RwLock<Option<Arc<dyn OtherIpams>>>,
    /// Why new owners are refused beside other IPAMs, by network. A `std::sync::Mutex`, held for a look-up.
    pub(crate) unaccounted: Mutex<BTreeMap<NetworkName, (Compared, String)>>,
    /// The order of the agents' requests.
    pub(crate) turns: Turns,
    pub(crate) heard: Arc<Heard>,
    /// The claims of a lost state that are still to be restored.
    pub(crate) witnessed: Witnessed,
    /// The requests that wait for supply.
    pub(crate) demands: Arc<Demands>,
    pub(crate) delegates: Delegates,
    /// Notified when links of ended allocations may be left.
    pub(crate) unlinked: Notify,
}

impl Engine {
    /// Creates an engine over recovered state, and the task that undoes abandoned ADDs. Run the task for as long as
    /// the engine serves.
    #[must_use]
    pub fn new(state: LedgerState, ports: Ports, settings: Settings) -> (Arc<Self>, Abandoned) {
        let LedgerState { books, removed, node } = state;
        let shadows = Arc::new(Shadows::default());
        let began = ports.clock.now();
        let feed = Feed::new(began, node.claims.through());
        let committer = Committer::new(Arc::clone(&ports.journal), node, removed, Arc::clone(&shadows), feed);
        let committer = Arc::new(committer);
        let (clock, links) = (Arc::clone(&ports.clock), Arc::clone(&ports.links));
        let (undo, abandoned) = undo::channel(Arc::clone(&committer), clock, links);
        let engine = Self {
            networks: Arc::new(Networks::restore(books, settings.networks)),
            admission: Admission::new(settings.in_flight, settings.queue, began),
            conditions: Arc::new(Conditions::new(Arc::clone(&ports.clock))),
            others: RwLock::default(),
            unaccounted: Mutex::default(),
            ports,
            committer,
            settings: Mutex::new(Arc::new(settings)),
            defining: Mutex::default(),
            undo,
            strikes: Strikes::default(),
            shadows,
            reports: Mutex::default(),
            due: Notify::new(),
            tending: tokio::sync::Mutex::default(),
            vetting: Vetting::default(),
            loading: tokio::sync::Mutex::default(),
            turns: Turns::default(),
            heard: Arc::new(Heard::new(began)),
            witnessed: Witnessed::default(),
            demands: Arc::default(),
            delegates: Delegates::default(),
            unlinked: Notify::new(),
        };
        (Arc::new(engine), abandoned)
    }

    /// Restores the DELs that earlier engines have served in this boot, in the order in which they did, and records each further
    /// one. All that began at or after `since` must be among them. Call it before the engine serves.
    pub fn remember_dels(
        &self,
        since: Moment,
        dels: impl IntoIterator<Item = ServedDel>,
        record: Arc<dyn DelRecord>,
    ) {
        self.admission.remember(since, dels, record);
    }

    /// The source of the snapshots' pages.
    #[must_use]
    pub fn images(&self) -> Arc<dyn Images> {
        Arc::new(Snapshots { networks: Arc::clone(&self.networks), committer: Arc::clone(&self.committer) })
    }

    /// The current settings.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&hold(&self.settings))
    }

    /// The current bounds of networks and policies.
    pub(crate) fn bounds(&self) -> Arc<Bounds> {
        Arc::clone(&hold(&self.settings).bounds)
    }

    /// Replaces the settings. Requests already being served finish under the old ones.
    pub fn set(&self, settings: Settings) {
        self.admission.set_limits(settings.in_flight, settings.queue);
        self.networks.set_most(settings.networks);
        *hold(&self.settings) = Arc::new(settings);
    }

    /// Clamps a caller's start time to now: a start time in the future would make every later ADD of its key fail.
    pub(crate) fn not_in_future(began: Moment, now: Moment) -> Moment {
        began.min(now)
    }

    /// Locks the ranges of all networks against concurrent changes.
    pub(crate) fn defining(&self) -> Defining<'_> {
        Defining { _guard: hold(&self.defining) }
    }

    /// Frees addresses whose cooldown is over.
    pub(crate) fn expire(&self, served: &mut Served, now: Moment) {
        let cooldown = hold(&self.settings).cooldown;
        if served.book.has_expired(now, cooldown) {
            Arc::make_mut(&mut served.book).expire(now, cooldown);
        }
    }

    /// Runs a verb and reports its outcome to the observer.
    pub(crate) async fn observed<T>(
        &self,
        verb: &'static str,
        network: &NetworkName,
        owner: Option<&Owner>,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let started = self.ports.clock.monotonic();
        let result = work.await;
        let took = self.ports.clock.monotonic().saturating_sub(started);
        let error = result.as_ref().err();
        self.ports.observer.request(&Decision { verb, network, owner, error, took });
        result
    }
}

/// While this guard is held, nobody else changes the ranges of any network.
pub(crate) struct Defining<'engine> {
    _guard: MutexGuard<'engine, ()>,
}
