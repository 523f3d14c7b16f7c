//! JSON output for programs: the protocol's messages with the protocol's field names; every field is always present.
//!
//! It is written by hand rather than derived, so that a change to the protocol cannot silently change it.

use serde_json::{Value, json};
use tenure_rpc::v1;
use tenure_types::Error;

use crate::exit::next_step;
use crate::report::{Defined, Entry, Finding, Import, Judged, Release, Removed, Repair, Report};

/// A report as JSON.
pub(crate) fn report(report: &Report) -> Value {
    match report {
        Report::Status(answer) => status(answer),
        Report::Networks(answer) => networks(answer),
        Report::Address(found) => address(&found.answer),
        Report::Check(answer) => check(answer),
        Report::Release(done) => release(done),
        Report::Repair(done) => repair(done),
        Report::Import(done) => import(done),
        Report::Adopted(answer) => adopted(answer),
        Report::Policies(answer) => policies(answer),
        Report::Activated(done) => activated(&done.answer),
        Report::Defined(done) => defined(done),
        Report::Removed(done) => removed(done),
        Report::Reloaded(answer) => reloaded(answer),
    }
}

/// An error as JSON.
pub(crate) fn error(error: &Error) -> Value {
    json!({ "error": { "code": error.code.name(), "cause": error.cause, "next_step": next_step(error.code) } })
}

fn status(status: &v1::GetStatusResponse) -> Value {
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

fn networks(answer: &v1::ListNetworksResponse) -> Value {
    json!({ "networks": list(&answer.networks, network) })
}

fn network(network: &v1::Network) -> Value {
    json!({
        "name": network.name,
        "policy": network.policy.as_ref().map(policy_ref),
        "activated": network.activated,
        "chosen_by": network.chosen_by,
        "chosen_at_ms": network.chosen_at_ms,
        "policy_before": network.policy_before.as_ref().map(policy_ref),
        "defined_by": network.defined_by,
        "importing": network.importing,
        "overlaps": network.overlaps,
        "pools": list(&network.pools, pool),
        "outside": network.outside,
    })
}

fn pool(pool: &v1::Pool) -> Value {
    json!({
        "name": pool.name,
        "supply": pool.supply,
        "need": pool.need,
        "attributes": pool.attributes,
        "ranges": pool.ranges,
        "range_states": list(&pool.range_states, |range| json!({
            "name": range.name,
            "first": range.first,
            "last": range.last,
            "subnet": range.subnet,
            "gateway": range.gateway,
            "draining": range.draining,
            "held": range.held,
            "cooling": range.cooling,
            "attributes": range.attributes,
        })),
        "range_count": pool.range_count,
        "total": pool.total,
        "held": pool.held,
        "cooling": pool.cooling,
    })
}

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

fn address(answer: &v1::GetAddressResponse) -> Value {
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

fn check(answer: &v1::CheckResponse) -> Value {
    json!({
        "compared": answer.compared,
        "findings": list(&answer.findings, finding),
        "notes": list(&answer.notes, finding),
    })
}

fn finding(finding: &v1::Finding) -> Value {
    json!({
        "kind": finding.kind,
        "network": finding.network,
        "subject": finding.subject,
        "detail": finding.detail,
        "next_step": finding.next_step,
        "generation": finding.generation,
        "addresses": finding.addresses,
        "pod_namespace": finding.pod_namespace,
        "pod_name": finding.pod_name,
    })
}

fn policies(answer: &v1::ListPoliciesResponse) -> Value {
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

fn activated(answer: &v1::ActivatePolicyResponse) -> Value {
    json!({
        "before": answer.before.as_ref().map(policy_ref),
        "after": answer.after.as_ref().map(policy_ref),
        "ranges_added": answer.ranges_added,
        "ranges_removed": answer.ranges_removed,
    })
}

fn defined(Defined { applied, answer }: &Defined) -> Value {
    json!({
        "applied": applied,
        "network": answer.network,
        "policy": answer.policy.as_ref().map(policy_ref),
        "changed": answer.changed,
        "ranges_added": answer.ranges_added,
        "ranges_removed": answer.ranges_removed,
    })
}

fn removed(Removed { network, applied, answer }: &Removed) -> Value {
    json!({ "applied": applied, "network": network, "existed": answer.existed })
}

fn reloaded(answer: &v1::ReloadResponse) -> Value {
    json!({
        "applied": answer.applied,
        "after_restart": answer.after_restart,
        "problems": list(&answer.problems, |problem| json!({ "key": problem.key, "message": problem.message })),
    })
}

fn adopted(answer: &v1::AdoptResponse) -> Value {
    json!({ "was_lost": answer.was_lost })
}

fn release(Release { applied, answer, .. }: &Release) -> Value {
    json!({
        "applied": applied,
        "outcome": answer.outcome,
        "reason": answer.reason,
        "allocation": answer.allocation.as_ref().map(allocation),
    })
}

fn import(report: &Import) -> Value {
    json!({
        "applied": report.applied,
        "entries": list(&report.judged, |Judged { entry: Entry { network, entry }, outcome }| json!({
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

fn repair(report: &Repair) -> Value {
    let finding = |finding: &Finding| {
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

#[cfg(test)]
mod tests {
    use tenure_types::ErrorCode;

    use super::*;

    #[test]
    fn an_error_says_what_and_why_and_what_next() {
        let error = Error::new(ErrorCode::UnknownNetwork, "no network \"p\u{1b}[2Jods\" on this node");
        insta::assert_snapshot!(super::error(&error), @r#"{"error":{"cause":"no network \"p\u001b[2Jods\" on this node","code":"unknown-network","next_step":"`tenurectl networks` lists the networks; the first ADD, `tenurectl network define` or tenured.toml creates one"}}"#);
    }
}
