//! Shared by the parts of the agent: the ledger through the engine, the client, the settings and the state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ipnet::IpNet;
use kube::Client;
use tenure_conditions::Conditions;
use tenure_engine::Engine;
use tenure_leases::agent::ledger::{BlockUsage, LeaseHold, LedgerBlock};
use tenure_leases::agent::time::NotedTime;
use tenure_leases::{BlockName, Uid};
use tenure_ledger::{Book, Intent};
use tenure_types::{
    Clock, ConditionName, EffectKind, InvalidAttributes, NetworkName, Object, PoolName, Result, agreed, hold,
};
use tokio::sync::Notify;

use crate::agent::reboot::unconfirmed;
use crate::agent::records::{self, HeldLease, is_loss_noted, mark_of};
use crate::agent::settings::{AgentSettings, PoolFamily};
use crate::agent::state::AgentState;
use crate::agent::usage::{usage, with_awaited};
use crate::pods::KnownPodLabels;

/// Shared by the parts of the agent. The state is behind a `std::sync::Mutex`, which is never held across a wait.
pub(crate) struct AgentCore {
    pub(crate) engine: Arc<Engine>,
    pub(crate) client: Client,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: AgentSettings,
    /// The labels of the node's pods, which say where a virtual machine runs.
    pub(crate) pods: Option<Arc<dyn KnownPodLabels>>,
    state: Mutex<AgentState>,
    /// Something has happened that the agent should look at now.
    pub(crate) wake: Notify,
}

impl AgentCore {
    pub(crate) fn new(
        engine: Arc<Engine>,
        client: Client,
        clock: Arc<dyn Clock>,
        settings: AgentSettings,
        pods: Option<Arc<dyn KnownPodLabels>>,
    ) -> Self {
        let is_lost = is_lost(engine.conditions()) || is_loss_noted(&engine);
        let unconfirmed = unconfirmed(&engine, Some(settings.boot));
        let state = AgentState { is_lost, unconfirmed, ..AgentState::default() };
        Self { engine, client, clock, settings, pods, state: Mutex::new(state), wake: Notify::new() }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, AgentState> {
        hold(&self.state)
    }

    /// The boot clock's reading.
    pub(crate) fn now(&self) -> Duration {
        Duration::from_nanos(self.clock.now().boot_ns)
    }

    /// The durable time now, and as it was noted last.
    pub(crate) fn time(&self) -> (NotedTime, Option<NotedTime>) {
        let last = records::noted_time(self.engine.objects().iter().map(AsRef::as_ref));
        (NotedTime::now(last, self.settings.boot, self.now().as_secs()), last)
    }

    /// The leases of the ledger, by their addresses.
    pub(crate) fn leases(&self) -> BTreeMap<IpNet, HeldLease> {
        records::leases(self.engine.objects().iter().map(AsRef::as_ref))
    }

    /// The leases that were given back, each with the second of the durable time at which it may be forgotten, as far as its record says so.
    pub(crate) fn dropped(&self) -> BTreeMap<Uid, Option<u64>> {
        records::dropped(self.engine.objects().iter().map(AsRef::as_ref))
    }

    /// The open intent that gives a block back.
    pub(crate) fn giving_back(&self, cidr: IpNet) -> Option<Arc<Intent>> {
        let name = cidr.to_string();
        let is_it = |intent: &Arc<Intent>| {
            intent.kind == EffectKind::GiveBackBlock && intent.attributes.get(agreed::BLOCK) == Some(&*name)
        };
        self.engine.intents().into_iter().find(is_it)
    }

    /// A lease as the tables of `tenure-leases` want it. A block that is being given back is frozen, even if its record says open.
    pub(crate) fn row(&self, lease: &HeldLease, book: Option<&Book>) -> LedgerBlock {
        let cidr = lease.cidr();
        let frozen = self.giving_back(cidr).and_then(|intent| mark_of(&intent)).map(LeaseHold::Frozen);
        let usage = self.usage(&lease.pool.name, cidr, book);
        LedgerBlock { cidr, uid: lease.uid, hold: frozen.unwrap_or(lease.hold), usage }
    }

    /// The use of a block, as far as the network's book is known, and in the networks that had its pool before. Agents may use the addresses of
    /// claims that are still to be restored.
    pub(crate) fn usage(&self, pool: &str, cidr: IpNet, book: Option<&Book>) -> BlockUsage {
        let known = book.map(|book| usage(book, cidr)).unwrap_or_default();
        let network = self.settings.network_of(pool);
        let awaited = network.map(|network| self.engine.awaited_addresses(network)).unwrap_or_default();
        let elsewhere = self.state().elsewhere.get(&cidr).copied().unwrap_or_default();
        with_awaited(known, cidr, &awaited).and(elsewhere)
    }

    /// The network's book of a lease, if the network exists.
    pub(crate) async fn book_of(&self, pool: &str) -> Option<Arc<Book>> {
        self.engine.book(self.settings.network_of(pool)?).await
    }

    /// Keeps a lease; durable when it returns.
    pub(crate) async fn record(&self, lease: &HeldLease) -> Result<()> {
        let object = lease.object().map_err(internal)?;
        self.engine.objects_seen(&[object], &[]).await
    }

    /// Remembers that a lease was given back; durable when it returns.
    pub(crate) async fn bury(&self, uid: Uid) -> Result<()> {
        self.engine.objects_seen(&self.tombstones([uid]).map_err(internal)?, &[]).await
    }

    /// The objects by which leases are remembered that were given back, with a note of the time, from which they count. If that note alone is durable
    /// after a crash, or not even that, nothing is forgotten earlier.
    pub(crate) fn tombstones(
        &self,
        uids: impl IntoIterator<Item = Uid>,
    ) -> std::result::Result<Vec<Object>, InvalidAttributes> {
        let ((now, _), wall_seconds) = (self.time(), self.clock.now().wall_ms / 1000);
        let stones = uids.into_iter().map(|uid| records::tombstone(uid, now, wall_seconds));
        std::iter::once(records::time_note(now)).chain(stones).collect()
    }

    /// Forgets a block.
    pub(crate) async fn forget(&self, name: &BlockName) -> Result<()> {
        self.engine.objects_seen(&[], &[records::lease_key(name)]).await
    }

    /// Replaces a lease's uid by that under which it was made again. The lease names the pool of which it was made again.
    pub(crate) async fn rebind(&self, lease: &HeldLease, uid: Uid) -> Result<()> {
        let mut objects = self.tombstones([lease.uid]).map_err(internal)?;
        let boot = Some(self.settings.boot);
        let bound = HeldLease { uid, hold: LeaseHold::Open, boot, ..lease.clone() };
        objects.push(bound.object().map_err(internal)?);
        self.engine.objects_seen(&objects, &[records::tombstone_key(uid)]).await
    }

    /// Blocks of an engine pool that count for the demand: those that leave do not, nor those that are leased to another node.
    pub(crate) fn counted(&self, pool: &PoolName) -> u32 {
        let Some((name, family)) = crate::agent::settings::cluster_pool(pool) else { return 0 };
        self.counted_of(name, family)
    }

    /// The same by the pool's name in the cluster.
    pub(crate) fn counted_of(&self, pool: &str, family: PoolFamily) -> u32 {
        let leases = self.leases();
        let stays = |lease: &&HeldLease| {
            &*lease.pool.name == pool
                && lease.turn.is_none()
                && PoolFamily::of(lease.cidr()) == family
                && lease.hold.stays()
                && self.giving_back(lease.cidr()).is_none()
        };
        u32::try_from(leases.values().filter(stays).count()).unwrap_or(u32::MAX)
    }

    /// Whether the addresses of a pool of the cluster are for claims alone, as far as the operator has told.
    pub(crate) fn is_for_claims(&self, pool: &str) -> bool {
        self.state().in_force.values().any(|settings| settings.name == pool && settings.for_claims)
    }

    /// Whether no block of a pool can come, as the cluster's pool has no addresses of its family.
    pub(crate) fn lacks_family(&self, pool: &PoolName) -> bool {
        self.state().lacks_family(pool)
    }

    /// The book of a network.
    pub(crate) async fn book(&self, network: &NetworkName) -> Option<Arc<Book>> {
        self.engine.book(network).await
    }
}

/// Whether the ledger does not know the node's pods.
pub(crate) fn is_lost(conditions: &Conditions) -> bool {
    conditions.list().iter().any(|condition| condition.name == ConditionName::StateLost)
}

pub(crate) fn internal(error: impl std::fmt::Display) -> tenure_types::Error {
    tenure_types::Error::new(tenure_types::ErrorCode::Internal, error)
}
