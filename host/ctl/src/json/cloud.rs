//! The node's cloud interfaces, as JSON.

use serde_json::{Value, json};
use tenure_rpc::v1;

use super::list;

pub(super) fn cloud(answer: &v1::GetCloudResponse) -> Value {
    json!({
        "network": answer.network,
        "confirmed_age_ms": answer.confirmed_age_ms,
        "trouble": answer.trouble,
        "limits": answer.limits.as_ref().map(|limits| json!({
            "interfaces": limits.interfaces,
            "addresses": limits.addresses,
            "ipv6_addresses": limits.ipv6_addresses,
            "prefixes": limits.prefixes,
        })),
        "interfaces": list(&answer.interfaces, interface),
        "subnets": list(&answer.subnets, |subnet| json!({
            "id": subnet.id,
            "ranges": subnet.ranges,
            "available": subnet.available,
        })),
        "quarantine": list(&answer.quarantine, |of| json!({
            "interface": of.interface,
            "net": of.net,
            "age_ms": of.age_ms,
            "reason": of.reason,
        })),
        "odd": answer.odd,
        "leaked": list(&answer.leaked, |of| json!({ "interface": of.interface, "age_ms": of.age_ms })),
        "intents": list(&answer.intents, intent),
        "plan": answer.plan.as_ref().map(|plan| json!({
            "age_ms": plan.age_ms,
            "words": plan.words,
            "begun": plan.begun,
            "refused": plan.refused,
        })),
        "rates": list(&answer.rates, |rate| json!({
            "call": rate.call,
            "tokens": rate.tokens,
            "per_second": rate.per_second,
            "wait_ms": rate.wait_ms,
        })),
        "back_offs": list(&answer.back_offs, |of| json!({
            "subnet": of.subnet,
            "unit": of.unit,
            "left_ms": of.left_ms,
        })),
        "barred": list(&answer.barred, |of| json!({
            "call": of.call,
            "subnet": of.subnet,
            "reason": of.reason,
            "left_ms": of.left_ms,
        })),
        "calls": list(&answer.calls, |of| json!({ "call": of.call, "outcome": of.outcome, "count": of.count })),
        "ends": list(&answer.ends, |of| json!({ "kind": of.kind, "outcome": of.outcome, "count": of.count })),
    })
}

fn interface(interface: &v1::CloudInterface) -> Value {
    json!({
        "id": interface.id,
        "card": interface.card,
        "device": interface.device,
        "mac": interface.mac,
        "address": interface.address,
        "subnet": interface.subnet,
        "duty": interface.duty,
        "duty_reason": interface.duty_reason,
        "standing": interface.standing.as_ref().map(standing),
        "carries": list(&interface.carries, |range| json!({
            "net": range.net,
            "standing": range.standing.as_ref().map(standing),
            "pool": range.pool,
            "draining": range.draining,
            "total": range.total,
            "held": range.held,
            "cooling": range.cooling,
            "free": range.free,
        })),
    })
}

fn standing(standing: &v1::CloudStanding) -> Value {
    json!({
        "state": standing.state,
        "since_age_ms": standing.since_age_ms,
        "evidence": standing.evidence,
        "evidence_age_ms": standing.evidence_age_ms,
    })
}

fn intent(intent: &v1::CloudIntent) -> Value {
    json!({
        "id": intent.id,
        "kind": intent.kind,
        "attributes": intent.attributes,
        "reason": intent.reason,
        "since_ms": intent.since_ms,
        "step": intent.step,
        "step_age_ms": intent.step_age_ms,
    })
}
