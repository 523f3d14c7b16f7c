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
            "problem": policy.problem,
            "loading": policy.loading,
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
