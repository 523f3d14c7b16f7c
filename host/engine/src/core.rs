//! The state that all owners stand on: the ports, the networks, admission, the committer, and the undo of abandoned requests.
//!
//! The core has no owner in it, so nothing here can call one. Its methods stand where their subject is: about networks in `network/`,
//! about policies in `policy/`, the rest here and in `inspect`.

pub(crate) mod admission;
pub(crate) mod committer;
pub(crate) mod feed;
pub(crate) mod inspect;
pub(crate) mod kept;
pub(crate) mod snapshots;
pub(crate) mod strikes;
pub(crate) mod turns;
pub(crate) mod undo;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tenure_conditions::Conditions;
use tenure_ledger::LedgerState;
use tenure_types::{AgentName, Error, Moment, NetworkName, Owner};

use self::admission::Admission;
use self::committer::Committer;
use self::feed::Feed;
use self::snapshots::Snapshots;
use self::strikes::Strikes;
use self::turns::Turns;
use self::undo::Abandoned;
use crate::lock::hold;
use crate::network::bounds::Bounds;
use crate::network::networks::Networks;
use crate::network::slot::Served;
use crate::policy::shadows::Shadows;
use crate::ports::{Catalogue, Clock, Decision, DelRecord, Images, Journal, Links, Observer, ServedDel};

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

/// The state that all owners share: the ports, the networks, the one path by which facts are committed, and what admits requests.
///
/// It knows none of the owners, so that what they share cannot depend on one of them.
pub(crate) struct EngineCore {
    pub(crate) ports: Ports,
    pub(crate) networks: Arc<Networks>,
    pub(crate) committer: Arc<Committer>,
    pub(crate) admission: Arc<Admission>,
    /// The order of the agents' requests, as `admission` is of the attachments'.
    pub(crate) turns: Turns,
    /// A `std::sync::Mutex`, held only to copy the `Arc`; a configuration reload replaces the value.
    settings: Mutex<Arc<Settings>>,
    pub(crate) conditions: Arc<Conditions>,
    pub(crate) strikes: Strikes,
    pub(crate) undo: undo::Sender,
    /// Held while a network's ranges are compared with those of the other networks and then changed, so that
    /// exclusive ranges cannot come to overlap. Taken before any network's state, because the holder locks the states
    /// of the other networks.
    defining: Mutex<()>,
}

impl EngineCore {
    /// The core over recovered state, the queues of the shadows, and the task that undoes abandoned ADDs.
    pub(crate) fn new(
        state: LedgerState,
        ports: Ports,
        settings: Settings,
        began: Moment,
    ) -> (Arc<Self>, Arc<Shadows>, Abandoned) {
        let LedgerState { books, removed, node } = state;
        let shadows = Arc::new(Shadows::default());
        let feed = Feed::new(began, node.claims.through());
        let committer = Committer::new(Arc::clone(&ports.journal), node, removed, Arc::clone(&shadows), feed);
        let committer = Arc::new(committer);
        let (clock, links) = (Arc::clone(&ports.clock), Arc::clone(&ports.links));
        let (undo, abandoned) = undo::channel(Arc::clone(&committer), clock, links);
        let core = Self {
            networks: Arc::new(Networks::restore(books, settings.networks)),
            admission: Admission::new(settings.in_flight, settings.queue, began),
            turns: Turns::default(),
            conditions: Arc::new(Conditions::new(Arc::clone(&ports.clock))),
            ports,
            committer,
            settings: Mutex::new(Arc::new(settings)),
            strikes: Strikes::default(),
            undo,
            defining: Mutex::default(),
        };
        (Arc::new(core), shadows, abandoned)
    }

    /// The current time, by the clock that orders requests.
    pub(crate) fn now(&self) -> Moment {
        self.ports.clock.now()
    }

    /// Restores the DELs that earlier engines have served in this boot, in the order in which they did, and records each further
    /// one. All that began at or after `since` must be among them. Call it before the engine serves.
    pub(crate) fn remember_dels(
        &self,
        since: Moment,
        dels: impl IntoIterator<Item = ServedDel>,
        record: Arc<dyn DelRecord>,
    ) {
        self.admission.remember(since, dels, record);
    }

    /// The source of the snapshots' pages.
    pub(crate) fn images(&self) -> Arc<dyn Images> {
        Arc::new(Snapshots { networks: Arc::clone(&self.networks), committer: Arc::clone(&self.committer) })
    }

    /// The current settings.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&hold(&self.settings))
    }

    /// The current bounds of networks and policies.
    pub(crate) fn bounds(&self) -> Arc<Bounds> {
        Arc::clone(&hold(&self.settings).bounds)
    }

    /// Replaces the settings. Requests already being served finish under the old ones.
    pub(crate) fn set(&self, settings: Settings) {
        self.admission.set_limits(settings.in_flight, settings.queue);
        self.networks.set_most(settings.networks);
        *hold(&self.settings) = Arc::new(settings);
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
