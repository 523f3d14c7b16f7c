//! The blocks that a cluster leases to the node, as operators see them.

#[cfg(not(feature = "cluster"))]
use std::convert::Infallible;

use tenure_rpc::v1::GetClusterResponse;
#[cfg(feature = "cluster")]
use tenure_rpc::v1::{ClusterAck, ClusterBlock, ClusterDemand};

/// A handle to the agent.
#[cfg(feature = "cluster")]
pub(crate) type ClusterAgent = tenure_cluster::agent::AgentHandle;

/// A handle to the agent, which this daemon does not have.
#[cfg(not(feature = "cluster"))]
pub(crate) type ClusterAgent = Infallible;

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
    let demands = status.demands.into_iter().map(|of| ClusterDemand {
        pool: of.demand.pool.name.to_string(),
        family: if of.demand.is_ipv6 { "IPv6" } else { "IPv4" }.to_owned(),
        want: of.demand.want,
        in_use: of.demand.in_use,
        cooling: of.demand.cooling,
        waits_ms: of.waits.map(milliseconds),
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
    }
}
