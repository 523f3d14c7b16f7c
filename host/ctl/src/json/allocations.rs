//! Allocations, and the states of single addresses.

use serde_json::{Value, json};
use tenure_rpc::v1;

use super::list;
use super::policies::policy_ref;
use crate::report::Release;

/// The list of allocations, written piece by piece.
#[derive(Default)]
pub(crate) struct Allocations {
    begun: bool,
}

impl Allocations {
    pub(crate) fn add(&mut self, one: &v1::Allocation, out: &mut String) {
        out.push_str(if self.begun { "," } else { "{\"allocations\":[" });
        out.push_str(&allocation(one).to_string());
        self.begun = true;
    }

    pub(crate) fn end(&mut self, out: &mut String) {
        out.push_str(if self.begun { "]}\n" } else { "{\"allocations\":[]}\n" });
    }
}

fn allocation(allocation: &v1::Allocation) -> Value {
    json!({
        "network": allocation.network,
        "generation": allocation.generation,
        "container_id": allocation.container_id,
        "interface": allocation.interface,
        "addresses": allocation.addresses,
        "gateways": allocation.gateways,
        "pod_namespace": allocation.pod_namespace,
        "pod_name": allocation.pod_name,
        "pod_uid": allocation.pod_uid,
        "netns": allocation.netns,
        "policy": allocation.policy.as_ref().map(policy_ref),
        "allocated_at_ms": allocation.allocated_at_ms,
        "outside": allocation.outside,
        "kind": allocation.kind,
        "source": allocation.source,
        "unknown_because": allocation.unknown_because,
        "waiting": allocation.waiting,
        "claim": claim(allocation),
        "tags": allocation.tags,
        "sources": list(&allocation.sources, |source| json!({
            "pool": source.pool,
            "range": source.range,
            "pool_attributes": source.pool_attributes,
            "range_attributes": source.range_attributes,
            "attributes": source.attributes,
        })),
    })
}

/// The agent's claim, if the owner is one.
fn claim(allocation: &v1::Allocation) -> Option<Value> {
    match &allocation.owner {
        Some(v1::allocation::Owner::Claim(claim)) => {
            Some(json!({ "agent": claim.agent, "name": claim.name }))
        }
        _ => None,
    }
}

pub(super) fn address(answer: &v1::GetAddressResponse) -> Value {
    json!({
        "states": list(&answer.states, |state| json!({
            "network": state.network,
            "standing": state.standing,
            "allocation": state.allocation.as_ref().map(allocation),
            "cooling_for_ms": state.cooling_for_ms,
            "waiting": state.waiting.as_ref().map(allocation),
        })),
    })
}

pub(super) fn release(Release { applied, answer, .. }: &Release) -> Value {
    json!({
        "applied": applied,
        "outcome": answer.outcome,
        "reason": answer.reason,
        "allocation": answer.allocation.as_ref().map(allocation),
    })
}
