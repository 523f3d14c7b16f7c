//! Policies.

use serde_json::{Value, json};
use tenure_rpc::v1;

use super::list;

pub(super) fn policies(answer: &v1::ListPoliciesResponse) -> Value {
    json!({
        "policies": list(&answer.policies, |policy| json!({
            "policy": policy.policy.as_ref().map(policy_ref),
            "source": policy.source,
            "networks": policy.networks,
            "shadows": policy.shadows,
            "problem": policy.problem,
            "loading": policy.loading,
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
        })),
    })
}

pub(super) fn loaded(answer: &v1::LoadPolicyResponse) -> Value {
    json!({ "policy": answer.policy.as_ref().map(policy_ref), "signer": answer.signer })
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
