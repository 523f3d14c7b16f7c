//! Blocks that nodes hold without an IPBlock: leases that are lost, and claims that are not believed.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use tenure_leases::operator::held::{HeldVerdict, judge_missing};
use tenure_leases::{LeaseRules, NodeIpamSpec, Uid};

use crate::view::{ClusterView, PoolView, is_ipv6};

/// A node that says it holds a block of which there is no IPBlock.
#[derive(Debug, Clone)]
pub(super) struct HeldClaim {
    pub(super) node: String,
    pub(super) uid: Uid,
    pub(super) pool: Uid,
    pub(super) verdict: HeldVerdict,
}

/// The claims by overlap group and block.
pub(super) type HeldClaims = BTreeMap<(String, IpNet), Vec<HeldClaim>>;

/// Judges each `held` without an IPBlock.
pub(super) fn claims(view: &ClusterView) -> HeldClaims {
    let leases: BTreeSet<Uid> = view.blocks.iter().map(|view| view.block.uid).collect();
    let mut claims = HeldClaims::new();
    for (node, said) in &view.said {
        let mut counted: BTreeMap<Uid, u32> = BTreeMap::new();
        for block in view.blocks_of(&said.spec) {
            *counted.entry(block.block.pool.uid).or_default() += 1;
        }
        for held in said.spec.held.iter().filter(|held| !leases.contains(&held.uid)) {
            let Some((group, pool)) = place(view, &said.spec, held.cidr) else { continue };
            if view.blocks.iter().any(|view| view.group == group && view.block.cidr == held.cidr) {
                continue;
            }
            let Some(space) = view.spaces.get(group) else { continue };
            let alive = view.is_alive(&said.spec).then_some(&pool.lease);
            let selected = view.admits(pool, &said.spec);
            let counted = counted.entry(pool.lease.key.uid).or_default();
            let unreadable =
                view.unreadable_blocks.iter().any(|(of, cidr)| of == group && *cidr == held.cidr);
            let verdict = if unreadable {
                // There is an IPBlock, in words of another version: it is not lost.
                HeldVerdict::Taken
            } else {
                judge_missing(LeaseRules::ALL, &space.space, held.cidr, &said.spec, alive, selected, *counted)
            };
            if verdict != HeldVerdict::Free {
                *counted += u32::from(verdict != HeldVerdict::Ignored);
                let claim =
                    HeldClaim { node: node.clone(), uid: held.uid, pool: pool.lease.key.uid, verdict };
                claims.entry((group.to_owned(), held.cidr)).or_default().push(claim);
            }
        }
    }
    claims
}

/// The overlap group and pool of a block that a node holds. Where several groups have its addresses, the one whose pool the node demands.
fn place<'a>(view: &'a ClusterView, said: &NodeIpamSpec, cidr: IpNet) -> Option<(&'a str, &'a PoolView)> {
    let places = view.spaces.iter().filter_map(|(group, space)| {
        let range = space.space.cell(cidr)?;
        Some((&**group, view.pool(range.pool.uid)?))
    });
    let places: Vec<_> = places.collect();
    let demanded = |pool: &PoolView| {
        said.demand
            .iter()
            .any(|demand| demand.pool.uid == pool.lease.key.uid && demand.is_ipv6 == is_ipv6(cidr))
    };
    let first = places.first().copied();
    places.into_iter().find(|(_, pool)| demanded(pool)).or(first)
}
