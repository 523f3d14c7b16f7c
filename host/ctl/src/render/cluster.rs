//! The blocks that a cluster leases to the node.

use tenure_rpc::v1::{ClusterBlock, GetClusterResponse};

use super::cell::Cell;
use super::page::Page;
use super::parts::{age, clean, duration, or_dash};
use super::shown::Shown;
use super::table::Table;

impl Shown for GetClusterResponse {
    /// The blocks, the demand, the answers to marks, and what is wrong.
    fn page(&self, _: u64) -> Page {
        let blocks = Table::of(&self.blocks)
            .column("BLOCK", |of| clean(&of.cidr))
            .name("POOL", |of| clean(&of.pool))
            .wide("NETWORK", |of| or_dash(&clean(&of.network)))
            .prose("STATE", |of| clean(&of.hold))
            .number("IN USE", |of| of.in_use)
            .number("COOLING", |of| of.cooling)
            .number("FREE", |of| of.free)
            .prose("EMPTY FOR", empty)
            .name("MARK", |of| or_dash(&clean(&of.mark)));
        let demands = Table::of(&self.demands)
            .name("WANTS", |of| clean(&of.pool))
            .column("FAMILY", |of| clean(&of.family))
            .number("BLOCKS", |of| of.want)
            .number("IN USE", |of| of.in_use)
            .column("WAITS FOR ONE", |of| of.waits_ms.map_or_else(|| Cell::from("-"), Cell::age))
            .prose("BECAUSE", |of| or_dash(&clean(&of.reason)));
        let pools = Table::of(&self.pools)
            .name("SETTINGS OF", |of| clean(&of.name))
            .wide("GENERATION", |of| of.generation.to_string())
            .column("GATEWAY", |of| or_dash(&clean(&of.gateway)))
            .list("ROUTES", |of| or_dash(&clean(&of.routes.join(", "))))
            .column("COOLDOWN", |of| {
                duration(u64::try_from(of.cooldown_seconds).unwrap_or_default().saturating_mul(1000))
            });
        let acks = Table::of(&self.acks)
            .column("ANSWER", |of| clean(&of.answer))
            .name("MARK", |of| clean(&of.mark))
            .column("LEASE", |of| clean(&of.uid));
        Page::from(head(self))
            .table_or(blocks, "No block is leased yet.\n")
            .section(demands)
            .section(pools)
            .section(acks)
            .paragraph(waits(self))
    }
}

/// How long a block has been empty, and whether it is offered.
fn empty(block: &ClusterBlock) -> String {
    let offered = if block.offered { ", offered" } else { "" };
    block.idle_ms.map_or_else(|| "-".to_owned(), |idle| format!("{}{offered}", age(idle)))
}

fn head(answer: &GetClusterResponse) -> String {
    if answer.node.is_empty() {
        return "The Node has not been read yet.\n\n".to_owned();
    }
    format!("node {}, machine {}\n\n", clean(&answer.node), clean(&answer.machine))
}

fn waits(answer: &GetClusterResponse) -> String {
    let mut out = String::new();
    for of in answer.demands.iter().filter(|of| !of.reason.is_empty()) {
        out.push_str(&format!(
            "The operator grants no {} block of pool {}: {}: {}\n",
            clean(&of.family),
            clean(&of.pool),
            clean(&of.reason),
            clean(&of.message)
        ));
    }
    if !answer.reason.is_empty() && out.is_empty() {
        out.push_str(&format!(
            "The operator grants nothing: {}: {}\n",
            clean(&answer.reason),
            clean(&answer.message)
        ));
    }
    for difference in &answer.differences {
        out.push_str(&format!("Contradiction: {}\n", clean(difference)));
    }
    if !answer.trouble.is_empty() {
        out.push_str(&format!("The API server does not serve this node: {}\n", clean(&answer.trouble)));
    }
    out
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::{ClusterAck, ClusterDemand, ClusterPool};

    use super::*;

    #[test]
    fn blocks_demand_and_answers_are_shown_and_what_the_node_waits_for() {
        let block = |cidr: &str, hold: &str, in_use: u32| ClusterBlock {
            cidr: cidr.into(),
            pool: "pods".into(),
            network: "pods".into(),
            hold: hold.into(),
            in_use,
            free: 61 - in_use,
            ..ClusterBlock::default()
        };
        let empty =
            ClusterBlock { idle_ms: Some(1_860_000), offered: true, ..block("10.64.0.64/26", "open", 0) };
        let answer = GetClusterResponse {
            node: "blue".into(),
            machine: "00ff".into(),
            blocks: vec![block("10.64.0.0/26", "open", 40), empty],
            demands: vec![ClusterDemand {
                pool: "pods".into(),
                family: "IPv4".into(),
                want: 3,
                in_use: 40,
                waits_ms: Some(9_000),
                reason: "PoolExhausted".into(),
                message: "no block of pool pods is free".into(),
                ..ClusterDemand::default()
            }],
            pools: vec![ClusterPool {
                name: "pods".into(),
                generation: 7,
                gateway: "10.64.0.1".into(),
                routes: vec!["0.0.0.0/0".into()],
                cooldown_seconds: 90,
            }],
            differences: vec!["network pods names pool blue".into()],
            acks: vec![ClusterAck { uid: "u1".into(), mark: "m1".into(), answer: "inUse".into() }],
            reason: "PoolExhausted".into(),
            message: "no block of pool pods is free".into(),
            ..GetClusterResponse::default()
        };
        let page = answer.page(0).to_string();
        for words in [
            "node blue, machine 00ff",
            "10.64.0.64/26",
            "31m, offered",
            "WAITS FOR ONE",
            "inUse",
            "The operator grants no IPv4 block of pool pods: PoolExhausted: no block of pool pods is free",
            "10.64.0.1",
            "1m 30s",
            "Contradiction: network pods names pool blue",
        ] {
            assert!(page.contains(words), "{words} is not in\n{page}");
        }
        let unknown = GetClusterResponse { demands: vec![], ..answer };
        assert!(unknown.page(0).to_string().contains("The operator grants nothing: PoolExhausted"));
        assert!(GetClusterResponse::default().page(0).to_string().contains("No block is leased yet."));
    }
}
