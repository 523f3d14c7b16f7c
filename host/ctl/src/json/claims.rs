//! Claims of agents as JSON.

use serde_json::{Value, json};
use tenure_rpc::v1;

use super::list;
use crate::report::ReleasedClaim;

pub(super) fn claims(answer: &v1::ListAllClaimsResponse) -> Value {
    // An older daemon does not say how agents stand to their claims.
    let standings = answer.standings.iter().copied().chain(std::iter::repeat_with(Default::default));
    let row = |(of, standing): (&v1::Claim, v1::AgentStanding)| {
        let mut row = claim(of);
        if let Some(row) = row.as_object_mut() {
            row.insert("last_heard_ms".to_owned(), standing.last_heard_ms.into());
            row.insert("watches".to_owned(), standing.watches.into());
            row.insert("orphaned".to_owned(), standing.orphaned.into());
        }
        row
    };
    json!({ "claims": answer.claims.iter().zip(standings).map(row).collect::<Vec<_>>() })
}

pub(super) fn released(ReleasedClaim { applied, claim: was }: &ReleasedClaim) -> Value {
    json!({ "applied": applied, "claim": was.as_ref().map(claim) })
}

fn claim(claim: &v1::Claim) -> Value {
    json!({
        "agent": claim.agent,
        "network": claim.network,
        "name": claim.name,
        "generation": claim.generation,
        "addresses": list(&claim.addresses, address),
        "routes": list(&claim.routes, route),
        "made_at_ms": claim.made_at_ms,
        "age_ms": claim.age_ms,
        "lease_seconds": claim.lease_seconds,
        "lapses_at_ms": claim.lapses_at_ms,
        "reserved": claim.reserved,
    })
}

fn address(address: &v1::ClaimAddress) -> Value {
    json!({
        "address": address.address,
        "gateway": address.gateway,
        "pool": address.pool,
        "range": address.range,
        "pool_attributes": address.pool_attributes,
        "range_attributes": address.range_attributes,
        "attributes": address.attributes,
        "mtu": address.mtu,
        "leaving": address.leaving,
    })
}

fn route(route: &v1::ClaimRoute) -> Value {
    json!({
        "destination": route.destination,
        "gateway": route.gateway,
        "mtu": route.mtu,
        "advmss": route.advmss,
        "priority": route.priority,
        "table": route.table,
        "scope": route.scope,
    })
}
