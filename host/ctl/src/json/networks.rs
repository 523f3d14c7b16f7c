//! Networks and their pools.

use serde_json::{Value, json};
use tenure_rpc::v1;

use super::list;
use super::policies::policy_ref;
use crate::report::{Defined, Removed};

pub(super) fn networks(answer: &v1::ListNetworksResponse) -> Value {
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

pub(super) fn defined(Defined { applied, answer }: &Defined) -> Value {
    json!({
        "applied": applied,
        "network": answer.network,
        "policy": answer.policy.as_ref().map(policy_ref),
        "changed": answer.changed,
        "ranges_added": answer.ranges_added,
        "ranges_removed": answer.ranges_removed,
    })
}

pub(super) fn removed(Removed { network, applied, answer }: &Removed) -> Value {
    json!({ "applied": applied, "network": network, "existed": answer.existed })
}
