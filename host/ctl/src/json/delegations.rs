//! What delegates were asked for, as JSON.

use serde_json::{Value, json};
use tenure_rpc::v1;

use super::list;

pub(super) fn delegations(answer: &v1::ListDelegationsResponse) -> Value {
    json!({ "delegations": list(&answer.delegations, delegation) })
}

fn delegation(delegation: &v1::Delegation) -> Value {
    json!({
        "network": delegation.network,
        "delegate": delegation.delegate,
        "owner": delegation.owner,
        "container_id": delegation.container_id,
        "interface": delegation.interface,
        "addresses": delegation.addresses,
        "phase": delegation.phase,
        "since_ms": delegation.since_ms,
        "attempts": delegation.attempts,
        "problem": delegation.problem,
    })
}
