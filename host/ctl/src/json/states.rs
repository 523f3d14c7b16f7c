//! What policies remember.

use serde_json::{Value, json};
use tenure_rpc::v1;

use super::list;
use super::policies::policy_ref;
use crate::report::Exported;

pub(super) fn state(answer: &v1::GetPolicyStateResponse) -> Value {
    json!({
        "now": answer.now.as_ref().map(one),
        "before": list(&answer.before, one),
        "serves": answer.serves.as_ref().map(policy_ref),
    })
}

pub(super) fn exported(exported: &Exported) -> Value {
    json!({ "now": one(&exported.state), "file": exported.file })
}

pub(super) fn imported(answer: &v1::ReplacePolicyStateResponse) -> Value {
    json!({ "now": answer.now.as_ref().map(one) })
}

/// A state without its bytes, which `--export` writes.
fn one(state: &v1::PolicyState) -> Value {
    json!({
        "policy": state.policy.as_ref().map(policy_ref),
        "version": state.version,
        "bytes": state.state.len(),
        "at_ms": state.at_ms,
    })
}
