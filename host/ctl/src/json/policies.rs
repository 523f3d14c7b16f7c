//! Policies.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use tenure_rpc::v1;

use super::list;
use crate::report::Loaded;

pub(super) fn policies(answer: &v1::ListPoliciesResponse) -> Value {
    json!({
        "policies": list(&answer.policies, |policy| json!({
            "policy": policy.policy.as_ref().map(policy_ref),
            "source": policy.source,
            "networks": policy.networks,
            "shadows": policy.shadows,
            "problem": policy.problem,
            "loading": policy.loading,
            "file_problem": policy.file_problem,
            "benched": policy.benched,
        })),
    })
}

pub(super) fn inspected(answer: &v1::InspectPolicyResponse) -> Value {
    json!({
        "versions": list(&answer.versions, |version| json!({
            "policy": version.policy.as_ref().map(policy_ref),
            "source": version.source,
            "signer": version.signer,
            "loaded_at_ms": version.loaded_at_ms,
            "current": version.current,
            "serves": version.serves,
            "shadows": version.shadows,
            "served": version.served,
            "problem": version.problem,
            "file_problem": version.file_problem,
            "benched": version.benched,
            "grants": version.grants.as_ref().map(grants),
            "meter": version.meter.as_ref().map(meter),
        })),
    })
}

fn grants(grants: &v1::PolicyGrants) -> Value {
    json!({
        "worlds": list(&grants.worlds, |world| json!({ "name": world.name, "granted": world.granted })),
        "effects": grants.effects,
        "deadline_ms": grants.deadline_ms,
        "memory_bytes": grants.memory_bytes,
        "networks": grants.networks,
        "within": grants.within,
        "unchecked": grants.unchecked,
    })
}

fn meter(meter: &v1::PolicyMeter) -> Value {
    let sorted = |counts: &HashMap<String, u64>| json!(counts.iter().collect::<BTreeMap<_, _>>());
    json!({
        "calls": meter.calls,
        "processor_us": meter.processor_us,
        "memory_peak_bytes": meter.memory_peak_bytes,
        "host_calls": meter.host_calls,
        "failures": sorted(&meter.failures),
        "refusals": sorted(&meter.refusals),
        "rejections": sorted(&meter.rejections),
    })
}

pub(super) fn loaded(loaded: &Loaded) -> Value {
    let Loaded { source, answer } = loaded;
    json!({ "policy": answer.policy.as_ref().map(policy_ref), "source": source, "signer": answer.signer })
}

pub(super) fn unloaded(answer: &v1::UnloadPolicyResponse) -> Value {
    json!({ "policy": answer.policy.as_ref().map(policy_ref) })
}

pub(super) fn shadow(answer: &v1::ShadowPolicyResponse) -> Value {
    json!({
        "policy": answer.policy.as_ref().map(policy_ref),
        "since_ms": answer.since_ms,
        "same": answer.same,
        "other_address": answer.other_address,
        "other_refusal": answer.other_refusal,
        "failed": answer.failed,
        "slower": answer.slower,
        "served_us": answer.served_us,
        "candidate_us": answer.candidate_us,
        "skipped": answer.skipped,
        "rehearsed": answer.rehearsed,
        "answered": answer.answered,
        "recorded": answer.recorded,
        "unanswered": answer.unanswered,
        "problem": answer.problem,
        "differences": list(&answer.differences, |difference| json!({
            "at_ms": difference.at_ms,
            "owner": difference.owner,
            "verdict": difference.verdict,
            "served": difference.served,
            "candidate": difference.candidate,
        })),
    })
}

pub(super) fn history(answer: &v1::GetPolicyHistoryResponse) -> Value {
    json!({
        "now": answer.now.as_ref().map(policy_ref),
        "watched": answer.watched,
        "before": list(&answer.before, policy_ref),
        "steps": list(&answer.steps, |step| json!({
            "at_ms": step.at_ms,
            "kind": step.kind,
            "policy": step.policy.as_ref().map(policy_ref),
            "reason": step.reason,
        })),
    })
}

pub(super) fn activated(answer: &v1::ActivatePolicyResponse) -> Value {
    json!({
        "before": answer.before.as_ref().map(policy_ref),
        "after": answer.after.as_ref().map(policy_ref),
        "ranges_added": answer.ranges_added,
        "ranges_removed": answer.ranges_removed,
    })
}

pub(super) fn policy_ref(policy: &v1::PolicyRef) -> Value {
    json!({ "name": policy.name, "sha256": policy.sha256 })
}
