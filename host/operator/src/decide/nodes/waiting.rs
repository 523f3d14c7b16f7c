//! The pools and families that a node waits for, and what it does without.

use tenure_cluster::objects::node::WaitingEntry;
use tenure_leases::RangeUse;

use super::super::WaitingNodes;
use super::super::grants::reasons::{NOT_ADMITTED, POOL_CLOSED};
use crate::view::{ClusterView, SaidView, is_ipv6};

/// The reasons for which a pool grants a node nothing because somebody decided so, and not for want of blocks.
const PASSED_OVER: [&str; 2] = [NOT_ADMITTED, POOL_CLOSED];

/// A family in an entry of what a node waits for.
const IPV6: &str = "IPv6";

/// Whether a node does without a pool: it is not for the node, whose agent has blocks of the family of another one. A claim has no other pool.
pub(super) fn is_passed_over(view: &ClusterView, said: &SaidView, entry: &WaitingEntry) -> bool {
    let pool = entry.pool_uid.parse().ok().and_then(|uid| view.pool(uid));
    let has_blocks = pool.is_some_and(|pool| pool.usage == RangeUse::Blocks);
    has_blocks
        && PASSED_OVER.contains(&entry.reason.as_str())
        && serves_family(view, said, entry.family == IPV6)
}

/// Whether the agent holds a block of a family from which its pods get addresses.
pub(in crate::decide) fn serves_family(view: &ClusterView, said: &SaidView, ipv6: bool) -> bool {
    let mut own = view.blocks_of(&said.spec).filter(|of| is_ipv6(of.block.cidr) == ipv6);
    own.any(|of| {
        let is_held = said.spec.held_uid(of.block.cidr) == Some(of.block.uid);
        is_held && !of.block.deleting && view.serves(of)
    })
}

/// The pools and families that a node waits for, by the pools' names.
pub(super) fn waiting_of(view: &ClusterView, node: &str, waiting: &WaitingNodes) -> Vec<WaitingEntry> {
    let demand = view.said.get(node).map(|said| said.spec.demand.as_slice()).unwrap_or_default();
    let entries = demand.iter().filter_map(|demand| {
        let wait = waiting.get(&(demand.pool.uid, demand.is_ipv6))?.get(node)?;
        Some(WaitingEntry {
            pool: demand.pool.name.to_string(),
            pool_uid: demand.pool.uid.to_string(),
            family: if demand.is_ipv6 { IPV6 } else { "IPv4" }.to_owned(),
            reason: wait.reason.to_owned(),
            message: wait.message.clone(),
        })
    });
    let mut entries: Vec<WaitingEntry> = entries.collect();
    entries.sort_by(|one, other| (&one.pool, &one.family).cmp(&(&other.pool, &other.family)));
    entries
}

/// The message of a node that waits: of each pool, if there are several.
pub(super) fn message(waiting: &[&WaitingEntry]) -> String {
    match waiting {
        [only] => only.message.clone(),
        several => {
            let each =
                several.iter().map(|entry| format!("{} {}: {}", entry.pool, entry.family, entry.message));
            each.collect::<Vec<_>>().join("; ")
        }
    }
}

/// The pools and families of entries, for people.
pub(super) fn names(waiting: &[&WaitingEntry]) -> String {
    let each = waiting.iter().map(|entry| format!("{} {} ({})", entry.pool, entry.family, entry.reason));
    each.collect::<Vec<_>>().join(", ")
}
