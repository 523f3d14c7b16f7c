//! The agent's status, for `tenurectl`, conditions and metrics.

use std::time::Duration;

use tenure_leases::agent::ledger::{BlockUsage, LeaseHold};
use tenure_leases::{HolderIdentity, MarkAck, PoolDemand};
use tenure_types::{NetworkName, PoolName};

use crate::agent::core::AgentCore;
use crate::agent::differs::differences;
use crate::agent::records::HeldLease;
use crate::agent::saying::spec;
use crate::agent::settings::PoolFamily;
use crate::agent::usage::free;
use crate::objects::node::PoolSettings;

/// A block that the node holds.
#[derive(Debug, Clone)]
pub struct BlockStatus {
    /// The IPBlock's name.
    pub name: String,
    /// The addresses.
    pub cidr: String,
    /// The IPBlock's uid.
    pub uid: String,
    /// The cluster's pool.
    pub pool: String,
    /// The network that hands its addresses out.
    pub network: Option<NetworkName>,
    /// How far it may be used: `open`, `cordoned`, `frozen`, `doubted` or `contested`.
    pub hold: &'static str,
    /// The mark that it is cordoned or frozen for.
    pub mark: Option<String>,
    /// The use of its addresses.
    pub usage: BlockUsage,
    /// Addresses that can be handed out.
    pub free: u32,
    /// How long it has been empty, if it is.
    pub idle: Option<Duration>,
    /// Whether it is offered to the cluster.
    pub is_offered: bool,
}

/// A pool and family that the node uses.
#[derive(Debug, Clone)]
pub struct DemandStatus {
    /// The demand, as the node states it.
    pub demand: PoolDemand,
    /// For how long it has waited for a block.
    pub waits: Option<Duration>,
    /// The operator's reason and message for granting none.
    pub waits_for: Option<(String, String)>,
}

/// The settings of a pool in force on the node.
#[derive(Debug, Clone)]
pub struct PoolSettingsStatus {
    /// The pool's name.
    pub name: String,
    /// The generation of its spec.
    pub generation: i64,
    /// The gateway that the pool prescribes.
    pub gateway: Option<String>,
    /// The destinations of its routes.
    pub routes: Vec<String>,
    /// Seconds for which a freed address cools down at least.
    pub cooldown_seconds: i64,
}

/// The agent's status.
#[derive(Debug, Clone)]
pub struct AgentStatus {
    /// The node, once its Node was read.
    pub identity: Option<HolderIdentity>,
    /// The blocks of the ledger, by address.
    pub blocks: Vec<BlockStatus>,
    /// The demand.
    pub demands: Vec<DemandStatus>,
    /// The settings of the pools, as told by the operator; none until then.
    pub pools: Vec<PoolSettingsStatus>,
    /// Contradictions between the configuration, the networks and the pools.
    pub differences: Vec<String>,
    /// The answers to marks.
    pub acks: Vec<MarkAck>,
    /// The operator's reason and message for granting nothing that the node wants.
    pub waits_for: Option<(String, String)>,
    /// The failure of the last pass.
    pub trouble: Option<String>,
    /// Networks of the configuration that exist and have blocks.
    pub networks: Vec<NetworkName>,
    /// Writes of the node's object since the start.
    pub writes: u64,
    /// The slowest lease since the start.
    pub slowest: Duration,
    /// Failed calls of the API server since the start, by what they were for.
    pub failed_calls: Vec<(&'static str, u64)>,
    /// Interruptions of the watch of the node's object since the start.
    pub interruptions: u64,
    /// Whether the watch shows the node's object as it is.
    pub is_listed: bool,
}

impl AgentStatus {
    /// The networks that exist and have no block, other than those whose addresses all come with claims.
    #[must_use]
    pub fn without_blocks(&self) -> Vec<&str> {
        let has =
            |network: &&NetworkName| self.blocks.iter().any(|block| block.network.as_ref() == Some(*network));
        self.networks.iter().filter(|network| !has(network)).map(NetworkName::as_str).collect()
    }

    /// The blocks of which the API server names another holder.
    #[must_use]
    pub fn contested(&self) -> Vec<&str> {
        self.blocks
            .iter()
            .filter(|block| block.hold == "contested")
            .map(|block| block.cidr.as_str())
            .collect()
    }
}

/// The status now.
pub(crate) async fn status(core: &AgentCore) -> AgentStatus {
    let mut networks = Vec::new();
    for (network, pools) in &core.settings.networks {
        let has_blocks = pools.iter().any(|pool| !core.is_for_claims(pool));
        if has_blocks && core.book(network).await.is_some() {
            networks.push(network.clone());
        }
    }
    let mut blocks = Vec::new();
    for lease in core.leases().into_values() {
        blocks.push(block(core, &lease).await);
    }
    let identity = core.state().identity.clone();
    let said = match &identity {
        Some(me) => Some(spec(core, me).await),
        None => None,
    };
    let differences = differences(core).await;
    let now = core.now();
    let state = core.state();
    let (demands, acks) = said.map(|said| (said.demand, said.acks)).unwrap_or_default();
    let demand = |demand: PoolDemand| {
        let family = if demand.is_ipv6 { PoolFamily::Ipv6 } else { PoolFamily::Ipv4 };
        let pool = PoolName::new(format!("{}{}", demand.pool.name, family.suffix())).ok();
        let since = pool.as_ref().and_then(|pool| state.waits_since.get(pool));
        DemandStatus {
            waits: since.map(|since| now.saturating_sub(*since)),
            waits_for: pool.and_then(|pool| state.pool_waits_for(&pool)),
            demand,
        }
    };
    let demands = demands.into_iter().map(demand).collect();
    AgentStatus {
        identity,
        blocks,
        demands,
        pools: state.in_force.values().map(pool).collect(),
        differences,
        acks,
        waits_for: state.waits_for().filter(|_| !state.wants.is_empty() || state.told.accepted.is_none()),
        trouble: state.trouble.clone(),
        networks,
        writes: state.writes,
        slowest: state.slowest,
        failed_calls: state.failed_calls.iter().map(|(what, count)| (*what, *count)).collect(),
        interruptions: state.interruptions,
        is_listed: state.is_listed,
    }
}

fn pool(settings: &PoolSettings) -> PoolSettingsStatus {
    let gateway = settings.gateway.as_ref().map(|gateway| {
        let of_block = gateway.block_index.map(|index| format!("place {index} of each block"));
        let addresses = [&gateway.ipv4, &gateway.ipv6].into_iter().flatten().cloned();
        let words: Vec<String> = addresses.chain(of_block).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    });
    PoolSettingsStatus {
        name: settings.name.clone(),
        generation: settings.generation,
        gateway,
        routes: settings.routes.iter().map(|route| route.dst.clone()).collect(),
        cooldown_seconds: settings.cooldown_seconds,
    }
}

async fn block(core: &AgentCore, lease: &HeldLease) -> BlockStatus {
    let cidr = lease.cidr();
    let book = core.book_of(&lease.pool.name).await;
    let row = core.row(lease, book.as_deref());
    let (hold, mark) = match row.hold {
        LeaseHold::Open => ("open", None),
        LeaseHold::Cordoned(mark) => ("cordoned", Some(mark)),
        LeaseHold::Frozen(mark) => ("frozen", Some(mark)),
        LeaseHold::Doubted => ("doubted", None),
        LeaseHold::Contested => ("contested", None),
    };
    let now = core.now();
    let state = core.state();
    BlockStatus {
        name: lease.name.to_string(),
        cidr: cidr.to_string(),
        uid: lease.uid.to_string(),
        pool: lease.pool.name.to_string(),
        network: core.settings.network_of(&lease.pool.name).cloned(),
        hold,
        mark: mark.map(|mark| mark.to_string()),
        usage: row.usage,
        free: book.as_deref().map_or(0, |book| free(book, cidr)),
        idle: state.idle_since.get(&cidr).map(|since| now.saturating_sub(*since)),
        is_offered: state.offered.values().any(|offered| offered.contains(&cidr)),
    }
}
