//! An explained plan, as JSON.

use serde_json::{Value, json};
use tenure_rpc::v1;

use super::list;
use super::policies::policy_ref;

pub(super) fn plan(answer: &v1::ExplainPlanResponse) -> Value {
    json!({
        "network": answer.network,
        "policy": answer.policy.as_ref().map(policy_ref),
        "effects": list(&answer.effects, effect),
        "refused": list(&answer.refused, effect),
        "code": answer.code,
        "words": answer.words,
        "pending": list(&answer.pending, effect),
        "pools": list(&answer.pools, |pool| json!({
            "name": pool.name,
            "total": pool.total,
            "held": pool.held,
            "cooling": pool.cooling,
            "free": pool.free,
            "waiting": pool.waiting,
        })),
        "objects": list(&answer.objects, |object| json!({
            "kind": object.kind,
            "name": object.name,
            "attributes": object.attributes,
        })),
        "attributes": answer.attributes,
        "lines": answer.lines,
    })
}

fn effect(effect: &v1::PlannedEffect) -> Value {
    json!({
        "kind": effect.kind,
        "pool": effect.pool,
        "attributes": effect.attributes,
        "reason": effect.reason,
        "refusal": effect.refusal,
    })
}
