//! The addresses that an IPAMClaim asks for. It names a network, and no pool.

use std::sync::Arc;

use tenure_cluster::convert::ClaimWish;
use tenure_cluster::{ConversionError, IPAMClaim};
use tenure_leases::RangeUse;

use super::{PoolView, is_ipv6};

/// The addresses that an IPAMClaim asks for, one of each family that the pools for claims of its network have.
///
/// A family without a CIDR counts as one that the pools do not have, unless the claim has or wants an address of it, or there is no other: it cannot be
/// taken out of a pool, only emptied.
pub(super) fn wishes(claim: &IPAMClaim, pools: &[Arc<PoolView>]) -> Result<Vec<ClaimWish>, ConversionError> {
    let is_its = |pool: &&Arc<PoolView>| {
        pool.usage == RangeUse::Claims && pool.object.spec.networks.contains(&claim.spec.network)
    };
    let (mut wishes, mut emptied) = (Vec::new(), Vec::new());
    for ipv6 in [false, true] {
        let has_family = |pool: &&Arc<PoolView>| match ipv6 {
            false => pool.object.spec.ipv4.is_some(),
            true => pool.object.spec.ipv6.is_some(),
        };
        let its = pools.iter().filter(is_its).filter(has_family);
        let Some(oldest) = its.clone().next() else { continue };
        let wish = claim.wish(&oldest.lease.key.name, ipv6)?;
        let pool = its.min_by_key(|pool| rank(pool, &wish, ipv6)).unwrap_or(oldest);
        let is_wanted = has_cidr(pool, ipv6) || wish.before.is_some() || wish.address.is_some();
        let of_family = if is_wanted { &mut wishes } else { &mut emptied };
        of_family.push(ClaimWish { pool: pool.lease.key.name.to_string(), ..wish });
    }
    Ok(if wishes.is_empty() { emptied } else { wishes })
}

/// The place of a pool among those of a claim's network, of which the first one counts, and the oldest of several: the one with the address that the claim
/// had comes first, since it may have lost the lease, then those that give its namespace addresses.
fn rank(pool: &PoolView, wish: &ClaimWish, ipv6: bool) -> [bool; 4] {
    let has_address =
        wish.before.is_some_and(|had| pool.ranges.iter().any(|range| range.cidr.contains(&had)));
    let is_closed = pool.lease.deleting || pool.lease.disabled;
    [!has_address, !pool.serves_namespace(&wish.claim.namespace), !has_cidr(pool, ipv6), is_closed]
}

/// Whether a pool has a CIDR of a family.
fn has_cidr(pool: &PoolView, ipv6: bool) -> bool {
    pool.ranges.iter().any(|range| is_ipv6(range.cidr) == ipv6)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tenure_leases::Uid;

    use super::*;
    use crate::view::{KeptObject, ViewSources, view};

    /// A pool for the network's claims in the namespace `red`, with more in its metadata and its spec.
    fn pool(uid: u128, ipv4: &[&str], ipv6: &[&str], more: &Value) -> KeptObject<PoolView> {
        let mut object = json!({
            "metadata": { "name": format!("p{uid}"), "uid": Uid(uid).to_string(), "resourceVersion": "1", "generation": 1 },
            "spec": {
                "usage": "Claims", "networks": ["net"], "namespaces": ["red"],
                "ipv4": { "cidrs": ipv4, "blockPrefix": 32 }, "ipv6": { "cidrs": ipv6, "blockPrefix": 128 },
            },
        });
        for (part, fields) in more.as_object().into_iter().flatten() {
            for (field, value) in fields.as_object().into_iter().flatten() {
                object[part][field] = value.clone();
            }
        }
        KeptObject::of(serde_json::from_value(object).unwrap())
    }

    /// The pools and families of the wishes of a claim that has these addresses, and asks for these.
    fn wished(pools: Vec<KeptObject<PoolView>>, had: &[&str], requests: &[&str]) -> Vec<String> {
        let metadata =
            json!({ "name": "vm", "namespace": "red", "uid": Uid(60).to_string(), "resourceVersion": "1" });
        let spec = json!({ "network": "net", "interface": "net1", "ipRequests": requests });
        let claim = json!({ "metadata": metadata, "spec": spec, "status": { "ips": had } });
        let view = view(ViewSources {
            pools,
            ipam_claims: Some(vec![KeptObject::of(serde_json::from_value(claim).unwrap())]),
            ..ViewSources::default()
        });
        assert!(view.unreadable.is_empty() && view.left_out.is_empty(), "{:?}", view.unreadable);
        let [claim] = view.ipam_claims.unwrap().try_into().unwrap();
        let words = |wish: &ClaimWish| {
            format!("{} {}", wish.pool, if wish.is_ipv6 == Some(true) { "IPv6" } else { "IPv4" })
        };
        claim.wishes.iter().map(words).collect()
    }

    const V4: &[&str] = &["10.0.0.0/29"];
    const V6: &[&str] = &["fd00::/125"];

    #[test]
    fn a_pool_that_grants_nothing_is_passed_over_for_one_that_does() {
        let closed = [
            json!({ "spec": { "disabled": true } }),
            json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }),
        ];
        for closed in closed {
            let pools = || vec![pool(1, V4, V6, &closed), pool(2, &["10.1.0.0/29"], &[], &json!({}))];
            assert_eq!(wished(pools(), &[], &[]), ["p2 IPv4", "p1 IPv6"], "{closed}");
            // Its lease may be lost, and its pod have the address.
            assert_eq!(wished(pools(), &["10.0.0.1/29"], &[]), ["p1 IPv4", "p1 IPv6"], "{closed}");
            // Of a pool for others, it would not learn more.
            let others = json!({ "spec": { "namespaces": ["blue"] } });
            let pools = vec![pool(1, V4, V6, &closed), pool(2, V4, V6, &others)];
            assert_eq!(wished(pools, &[], &[]), ["p1 IPv4", "p1 IPv6"], "{closed}");
        }
    }

    #[test]
    fn an_emptied_family_is_one_that_the_network_does_not_have() {
        let pools = || vec![pool(1, &[], V6, &json!({}))];
        assert_eq!(wished(pools(), &[], &[]), ["p1 IPv6"]);
        // A claim keeps what it has, and hears of what it cannot have.
        assert_eq!(wished(pools(), &["10.0.0.1/29", "fd00::1/125"], &[]), ["p1 IPv4", "p1 IPv6"]);
        assert_eq!(wished(pools(), &[], &["10.0.0.1/29"]), ["p1 IPv4", "p1 IPv6"]);
        let more = vec![pool(1, &[], V6, &json!({})), pool(2, V4, V6, &json!({}))];
        assert_eq!(wished(more, &[], &[]), ["p2 IPv4", "p1 IPv6"]);
        assert_eq!(wished(vec![pool(1, &[], &[], &json!({}))], &[], &[]), ["p1 IPv4", "p1 IPv6"]);
    }
}
