//! JSON for programs: the protocol's messages under the protocol's names, every field always there.
//!
//! It is written out by hand rather than derived, so that a change of the wire cannot change it unseen.

use serde_json::{Value, json};
use tenure_rpc::v1;

use crate::{import, repair};

pub(crate) fn status(status: &v1::GetStatusResponse) -> Value {
    json!({
        "state": status.state,
        "reasons": status.reasons,
        "conditions": list(&status.conditions, |condition| json!({
            "name": condition.name,
            "severity": condition.severity,
            "subject": condition.subject,
            "message": condition.message,
            "since_ms": condition.since_ms,
            "next_step": condition.next_step,
        })),
        "version": status.version,
        "boot_id": status.boot_id,
        "uptime_ms": status.uptime_ms,
        "networks": status.networks,
        "allocations": status.allocations,
        "cooling": status.cooling,
        "in_flight": status.in_flight,
        "queued": status.queued,
        "state_dir": status.state_dir,
        "log_bytes": status.log_bytes,
        "snapshot_bytes": status.snapshot_bytes,
    })
}

pub(crate) fn networks(answer: &v1::ListNetworksResponse) -> Value {
    json!({ "networks": list(&answer.networks, network) })
}

fn network(network: &v1::Network) -> Value {
    json!({
        "name": network.name,
        "policy": network.policy.as_ref().map(policy_ref),
        "activated": network.activated,
        "pools": list(&network.pools, |pool| json!({
            "ranges": pool.ranges,
            "total": pool.total,
            "held": pool.held,
            "cooling": pool.cooling,
        })),
        "outside": network.outside,
    })
}

/// The list of allocations, written as they come.
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
    })
}

pub(crate) fn address(answer: &v1::GetAddressResponse) -> Value {
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

pub(crate) fn check(answer: &v1::CheckResponse) -> Value {
    json!({
        "compared": answer.compared,
        "findings": list(&answer.findings, |finding| json!({
            "kind": finding.kind,
            "network": finding.network,
            "subject": finding.subject,
            "detail": finding.detail,
            "next_step": finding.next_step,
            "generation": finding.generation,
            "addresses": finding.addresses,
            "pod_namespace": finding.pod_namespace,
            "pod_name": finding.pod_name,
        })),
    })
}

pub(crate) fn policies(answer: &v1::ListPoliciesResponse) -> Value {
    json!({
        "policies": list(&answer.policies, |policy| json!({
            "policy": policy.policy.as_ref().map(policy_ref),
            "source": policy.source,
            "networks": policy.networks,
            "problem": policy.problem,
            "loading": policy.loading,
        })),
    })
}

pub(crate) fn activated(answer: &v1::ActivatePolicyResponse) -> Value {
    json!({
        "before": answer.before.as_ref().map(policy_ref),
        "after": answer.after.as_ref().map(policy_ref),
    })
}

pub(crate) fn adopted(answer: &v1::AdoptResponse) -> Value {
    json!({ "was_lost": answer.was_lost })
}

pub(crate) fn release(applied: bool, answer: &v1::ReleaseResponse) -> Value {
    json!({
        "applied": applied,
        "outcome": answer.outcome,
        "reason": answer.reason,
        "allocation": answer.allocation.as_ref().map(allocation),
    })
}

pub(crate) fn import(report: &import::Report) -> Value {
    json!({
        "applied": report.applied,
        "entries": list(&report.judged, |import::Judged { entry: import::Entry { network, entry }, outcome }| json!({
            "network": network,
            "container_id": entry.container_id,
            "interface": entry.interface,
            "addresses": entry.addresses,
            "pod_namespace": entry.pod_namespace,
            "pod_name": entry.pod_name,
            "outcome": outcome.outcome,
            "reason": outcome.reason,
        })),
        "left_out": list(&report.passed_over, |left_out| json!({ "what": left_out.what, "why": left_out.why })),
    })
}

pub(crate) fn repair(report: &repair::Report) -> Value {
    let finding = |finding: &repair::Finding| {
        json!({
            "kind": finding.kind,
            "network": finding.network,
            "subject": finding.subject,
            "generation": finding.generation,
            "addresses": finding.addresses,
            "pod_namespace": finding.pod_namespace,
            "pod_name": finding.pod_name,
        })
    };
    json!({
        "applied": report.applied,
        "repaired": list(&report.repaired, |(found, outcome)| json!({
            "finding": finding(found),
            "outcome": outcome.outcome,
            "reason": outcome.reason,
        })),
        "left": list(&report.left, finding),
    })
}

fn policy_ref(policy: &v1::PolicyRef) -> Value {
    json!({ "name": policy.name, "sha256": policy.sha256 })
}

fn list<T>(items: &[T], item: impl Fn(&T) -> Value) -> Vec<Value> {
    items.iter().map(item).collect()
}
