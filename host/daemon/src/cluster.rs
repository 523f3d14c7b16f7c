//! The blocks that a cluster leases to the node, and the daemon's rights in its API server, as operators see them.

#[cfg(feature = "cluster")]
use std::collections::BTreeMap;
#[cfg(not(feature = "cluster"))]
use std::convert::Infallible;

use tenure_aws::executor::Explained;
#[cfg(feature = "cluster")]
use tenure_cluster::access;
#[cfg(feature = "cluster")]
use tenure_cluster::agent::DemandStatus;
#[cfg(feature = "cluster")]
use tenure_observe::{ClusterFigures, ClusterPoolFigure};
use tenure_rpc::v1::{CheckClusterAccessResponse, GetClusterResponse};
#[cfg(feature = "cluster")]
use tenure_rpc::v1::{ClusterAck, ClusterBlock, ClusterDemand, ClusterPool, ClusterRight};
use tenure_types::{NetworkName, Result};

use crate::config::ClusterTable;

/// A handle to the agent.
#[cfg(feature = "cluster")]
pub(crate) type ClusterAgent = tenure_cluster::agent::AgentHandle;

/// A handle to the agent, which this daemon does not have.
#[cfg(not(feature = "cluster"))]
pub(crate) type ClusterAgent = Infallible;

/// The plan that a network's policy would make now.
#[cfg(not(feature = "cluster"))]
pub(crate) async fn explained(agent: &ClusterAgent, _: &NetworkName) -> Result<Explained> {
    match *agent {}
}

/// The plan that a network's policy would make now.
#[cfg(feature = "cluster")]
pub(crate) async fn explained(agent: &ClusterAgent, network: &NetworkName) -> Result<Explained> {
    agent.explain(network).await
}

/// The agent's status.
#[cfg(not(feature = "cluster"))]
pub(crate) async fn shown(agent: &ClusterAgent) -> GetClusterResponse {
    match *agent {}
}

/// The agent's status.
#[cfg(feature = "cluster")]
pub(crate) async fn shown(agent: &ClusterAgent) -> GetClusterResponse {
    let status = agent.status().await;
    let milliseconds = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let blocks = status.blocks.into_iter().map(|block| ClusterBlock {
        name: block.name,
        uid: block.uid,
        cidr: block.cidr,
        pool: block.pool,
        network: block.network.map(|network| network.to_string()).unwrap_or_default(),
        hold: block.hold.to_owned(),
        mark: block.mark.unwrap_or_default(),
        in_use: block.usage.in_use,
        cooling: block.usage.cooling,
        quarantined: block.usage.quarantined,
        claimed: block.usage.promised,
        free: block.free,
        idle_ms: block.idle.map(milliseconds),
        offered: block.is_offered,
    });
    let demand = |of: DemandStatus| {
        let (reason, message) = of.waits_for.unwrap_or_default();
        ClusterDemand {
            pool: of.demand.pool.name.to_string(),
            family: family(of.demand.is_ipv6).to_owned(),
            want: of.demand.want,
            in_use: of.demand.in_use,
            cooling: of.demand.cooling,
            waits_ms: of.waits.map(milliseconds),
            reason,
            message,
        }
    };
    let demands = status.demands.into_iter().map(demand);
    let pools = status.pools.into_iter().map(|pool| ClusterPool {
        name: pool.name,
        generation: pool.generation,
        gateway: pool.gateway.unwrap_or_default(),
        routes: pool.routes,
        cooldown_seconds: pool.cooldown_seconds,
    });
    let acks = status.acks.into_iter().map(|ack| ClusterAck {
        uid: ack.uid.to_string(),
        mark: ack.mark.to_string(),
        answer: ack.answer.as_str().to_owned(),
    });
    let (reason, message) = status.waits_for.unwrap_or_default();
    let identity = status.identity;
    GetClusterResponse {
        node: identity.as_ref().map(|me| me.name.to_string()).unwrap_or_default(),
        node_uid: identity.as_ref().map(|me| me.uid.to_string()).unwrap_or_default(),
        machine: identity.map(|me| me.machine.to_string()).unwrap_or_default(),
        blocks: blocks.collect(),
        demands: demands.collect(),
        acks: acks.collect(),
        reason,
        message,
        trouble: status.trouble.unwrap_or_default(),
        writes: status.writes,
        slowest_lease_ms: milliseconds(status.slowest),
        pools: pools.collect(),
        differences: status.differences,
    }
}

/// The agent's figures, for metrics.
#[cfg(feature = "cluster")]
pub(crate) async fn figures(agent: &ClusterAgent) -> ClusterFigures {
    let status = agent.status().await;
    let mut counts = BTreeMap::<(String, bool, &'static str), u64>::new();
    for block in status.blocks {
        *counts.entry((block.pool, block.cidr.contains(':'), block.hold)).or_default() += 1;
    }
    let blocks = counts.into_iter().map(|((pool, is_ipv6, state), count)| ClusterPoolFigure {
        pool,
        family: family(is_ipv6),
        state,
        count,
    });
    let waits = status
        .demands
        .into_iter()
        .map(|of| (of.demand.pool.name.to_string(), family(of.demand.is_ipv6), of.waits.unwrap_or_default()));
    ClusterFigures {
        blocks: blocks.collect(),
        waits: waits.collect(),
        slowest: status.slowest,
        writes: status.writes,
        failures: status.failed_calls,
        interruptions: status.interruptions,
        is_watched: status.is_listed,
    }
}

/// The daemon's rights in the API server, which no daemon without the feature asks.
#[cfg(not(feature = "cluster"))]
pub(crate) async fn access(_: &ClusterTable, _: &str) -> CheckClusterAccessResponse {
    CheckClusterAccessResponse::default()
}

/// The daemon's rights in the API server, by a connection of its own, as after a restart.
#[cfg(feature = "cluster")]
pub(crate) async fn access(config: &ClusterTable, node: &str) -> CheckClusterAccessResponse {
    let trouble = |trouble| CheckClusterAccessResponse { trouble, ..Default::default() };
    let uses = access::ClusterUses {
        leases: !config.networks.is_empty(),
        pods: config.knows_pods(),
        node: config.node,
        taint: config.startup_taint.is_some(),
    };
    let found = match access::of_daemon(config.kubeconfig.as_deref(), node, uses).await {
        Ok(found) => found,
        Err(error) => return trouble(error.to_string()),
    };
    let right = |(right, allowed): (access::ClusterRight, bool)| ClusterRight {
        verb: right.verb.to_owned(),
        resource: right.of(),
        purpose: right.purpose.to_owned(),
        allowed,
    };
    CheckClusterAccessResponse {
        user: found.user,
        rights: found.rights.into_iter().map(right).collect(),
        own_refused: found.own_refused.unwrap_or_default(),
        others_accepted: found.others_accepted,
        trouble: String::new(),
    }
}

#[cfg(feature = "cluster")]
fn family(is_ipv6: bool) -> &'static str {
    if is_ipv6 { "IPv6" } else { "IPv4" }
}
