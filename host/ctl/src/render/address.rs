//! Everything about one address.

use std::net::IpAddr;

use tenure_rpc::v1::allocation::Owner;
use tenure_rpc::v1::{AddressSource, AddressState, Allocation};

use super::page::Page;
use super::parts::{ago, clean, duration, joined, or_dash, pairs, pod, policy};
use super::shown::Shown;
use super::words::{AddressStanding, OwnerKind};
use crate::report::Address;

impl Shown for Address {
    /// A block for each network whose ranges contain the address.
    fn page(&self, now_ms: u64) -> Page {
        let blocks = self.answer.states.iter().map(|state| block(&self.address, state, now_ms));
        blocks.collect::<Vec<_>>().join("\n").into()
    }
}

fn block(address: &IpAddr, state: &AddressState, now_ms: u64) -> String {
    let standing = match AddressStanding::of(&state.standing) {
        Some(AddressStanding::Cooling) => format!("cooling down, free in {}", duration(state.cooling_for_ms)),
        Some(AddressStanding::Draining) => "draining: its range hands out no more addresses".to_owned(),
        Some(AddressStanding::Reserved) => "reserved: in the range, but never handed out".to_owned(),
        Some(AddressStanding::Quarantined) => "in quarantine: withheld from allocation".to_owned(),
        None => clean(&state.standing),
    };
    let mut text = format!("{address} on {}: {standing}\n", clean(&state.network));
    if let Some(held) = &state.allocation {
        text.extend(holder(held, now_ms).map(|(name, value)| format!("  {name:<10} {value}\n")));
        text.extend(more(held).map(|(name, value)| format!("  {name:<10} {value}\n")));
        if OwnerKind::of(&held.kind) == Some(OwnerKind::Unknown) {
            text.push_str(&format!(
                "  {:<10} {}: {}\n",
                "unknown",
                clean(&held.source),
                clean(&held.unknown_because)
            ));
        }
    }
    if let Some(of) = &state.quarantine {
        let reason = if of.reason.is_empty() { "no reason was given".to_owned() } else { clean(&of.reason) };
        let since = ago(of.since_ms, now_ms);
        text.push_str(&format!("  {:<10} {since}: {reason}\n", "quarantine"));
    }
    if let Some(claim) = &state.waiting {
        text.push_str(&format!(
            "  also claimed by an unknown owner, as generation {}: {}: {}\n",
            claim.generation,
            clean(&claim.source),
            clean(&claim.unknown_because)
        ));
    }
    text
}

/// The allocation's owner and what it holds. IDs are shown in full, so that they can be copied.
fn holder(held: &Allocation, now_ms: u64) -> [(&'static str, String); 9] {
    [
        ("pod", pod(held)),
        ("pod uid", or_dash(&held.pod_uid)),
        ("container", or_dash(&held.container_id)),
        ("interface", or_dash(&held.interface)),
        ("netns", or_dash(&held.netns)),
        ("addresses", joined(&held.addresses, ", ")),
        ("gateways", joined(&held.gateways, ", ")),
        ("policy", policy(held.policy.as_ref())),
        ("allocated", format!("{}, as generation {}", ago(held.allocated_at_ms, now_ms), held.generation)),
    ]
}

/// The fields that only some allocations have.
fn more(held: &Allocation) -> impl Iterator<Item = (&'static str, String)> {
    let claim = match &held.owner {
        Some(Owner::Claim(claim)) => format!("{} of agent {}", clean(&claim.name), clean(&claim.agent)),
        _ => String::new(),
    };
    let from = |source: &AddressSource| match pairs(&source.range_attributes) {
        with if with.is_empty() => clean(&source.pool),
        with => format!("{} ({with})", clean(&source.pool)),
    };
    let pools: Vec<_> = held.sources.iter().filter(|source| !source.pool.is_empty()).map(from).collect();
    let all = [("claim", claim), ("pools", pools.join(", ")), ("tags", pairs(&held.tags))];
    all.into_iter().filter(|(_, value)| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tenure_rpc::v1::{AgentClaim, GetAddressResponse};

    use super::*;

    #[test]
    fn an_address_that_is_held_cooling_and_reserved() {
        let state = |network: &str, standing: &str| AddressState {
            network: network.into(),
            standing: standing.into(),
            ..AddressState::default()
        };
        let held = Allocation {
            generation: 17,
            container_id: "4c01db0b339c7a9ac2cf8a5e5c3bd4d0e5f5b8a1a3f6f4f1a6b2f5d7c9e1b3a5".into(),
            interface: "eth0".into(),
            addresses: vec!["10.1.0.7/24".into()],
            gateways: vec!["10.1.0.1".into()],
            pod_namespace: "default".into(),
            pod_name: "web-1".into(),
            netns: "/run/netns/web-1".into(),
            allocated_at_ms: 1_000,
            ..Allocation::default()
        };
        let answer = GetAddressResponse {
            states: vec![
                AddressState { allocation: Some(held), ..state("pods", "held") },
                AddressState { cooling_for_ms: 12_300, ..state("blue", "cooling") },
                state("green", "reserved"),
                state("red", "free"),
            ],
        };
        insta::assert_snapshot!(Address { address: "10.1.0.7".parse().unwrap(), answer }.page(62_000), @"
        10.1.0.7 on pods: held
          pod        default/web-1
          pod uid    -
          container  4c01db0b339c7a9ac2cf8a5e5c3bd4d0e5f5b8a1a3f6f4f1a6b2f5d7c9e1b3a5
          interface  eth0
          netns      /run/netns/web-1
          addresses  10.1.0.7/24
          gateways   10.1.0.1
          policy     -
          allocated  1m 1s ago, as generation 17

        10.1.0.7 on blue: cooling down, free in 12s

        10.1.0.7 on green: reserved: in the range, but never handed out

        10.1.0.7 on red: free
        ");
    }

    #[test]
    fn an_agents_claim_says_whose_it_is_and_where_the_address_is_from() {
        let attributes = HashMap::from([("eni".to_owned(), "eni-7".to_owned())]);
        let held = Allocation {
            kind: "claim".into(),
            owner: Some(Owner::Claim(AgentClaim { agent: "cilium".into(), name: "router".into() })),
            sources: vec![AddressSource {
                pool: "zone-b".into(),
                range_attributes: attributes,
                ..AddressSource::default()
            }],
            tags: HashMap::from([("zone".into(), "b".into())]),
            ..Allocation::default()
        };
        insta::assert_snapshot!(more(&held).map(|(name, value)| format!("{name}: {value}\n")).collect::<String>(), @"
        claim: router of agent cilium
        pools: zone-b (eni=eni-7)
        tags: zone=b
        ");
        assert_eq!(more(&Allocation::default()).count(), 0);
    }
}
