//! The start-up taint: a Node is registered with it, and it goes once the node's agent has addresses for pods. Nothing puts it back.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Taint;

use super::nodes::{needs_no_block, serves_family};
use crate::view::{ClusterView, HostView, SaidView};
use crate::writes::{ObjectTarget, OperatorWrite};

/// Removes the taint from each Node that is ready for pods.
pub(super) fn taints(view: &ClusterView, key: &str) -> Vec<OperatorWrite> {
    let ready = view.said.iter().filter(|(_, said)| is_ready(view, said));
    ready.filter_map(|(name, _)| removal(name, view.hosts.get(name)?, key)).collect()
}

/// Whether a node is ready for pods: the condition that is written says so of what the agent says now, or the agent has a block of each family that it
/// wants, such as with a second pool that is exhausted; and the agent holds what it was leased, which is one block at least.
fn is_ready(view: &ClusterView, said: &SaidView) -> bool {
    let Some(told) = &said.told else { return false };
    let is_told =
        told.conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let current = told.observed_generation == said.generation;
    let mut leased = view.blocks_of(&said.spec).filter(|block| !block.block.deleting).peekable();
    let has_some = leased.peek().is_some() || needs_no_block(view, said);
    let holds = leased.all(|block| said.spec.held_uid(block.block.cidr) == Some(block.block.uid));
    (is_told || has_each_family(view, said)) && current && has_some && holds && view.is_alive(&said.spec)
}

/// Whether an agent that wants blocks has one of each family that it wants.
fn has_each_family(view: &ClusterView, said: &SaidView) -> bool {
    let wanted = said.spec.demand.iter().filter(|demand| demand.want > 0);
    let families: BTreeSet<bool> = wanted.map(|demand| demand.is_ipv6).collect();
    !families.is_empty() && families.into_iter().all(|ipv6| serves_family(view, said, ipv6))
}

fn removal(name: &str, host: &HostView, key: &str) -> Option<OperatorWrite> {
    let others: Vec<Taint> = host.taints.iter().filter(|taint| taint.key != key).cloned().collect();
    let target = ObjectTarget::new(name, host.evidence?.uid, host.version?);
    (others.len() < host.taints.len()).then_some(OperatorWrite::Taints(target, others))
}
