//! Blocks that nodes hold without an IPBlock: leases that are lost, and claims that are not believed.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use tenure_leases::operator::held::{ClaimantState, HeldCase, HeldVerdict, judge_missing};
use tenure_leases::{LeaseRules, NodeIpamSpec, Uid};

use crate::memory::OperatorMemory;
use crate::view::{ClusterView, PoolView, is_ipv6};

/// A node that says it holds a block of which there is no IPBlock.
#[derive(Debug, Clone)]
pub(super) struct HeldClaim {
    pub(super) node: String,
    pub(super) uid: Uid,
    pub(super) pool: Uid,
    pub(super) claimant: ClaimantState,
    pub(super) verdict: HeldVerdict,
}

impl HeldClaim {
    /// Whether the node's word keeps the block from being granted.
    pub(super) fn is_believed(&self) -> bool {
        matches!(self.verdict, HeldVerdict::Taken | HeldVerdict::Reclaim)
    }
}

/// The claims by overlap group and block.
pub(super) type HeldClaims = BTreeMap<(String, IpNet), Vec<HeldClaim>>;

/// The nodes that are believed to hold a block without an IPBlock.
pub(crate) fn believed(view: &ClusterView, memory: &OperatorMemory) -> BTreeSet<String> {
    let claims = claims(view, memory).into_values().flatten();
    claims.filter(HeldClaim::is_believed).map(|claim| claim.node).collect()
}

/// Judges each `held` without an IPBlock.
pub(super) fn claims(view: &ClusterView, memory: &OperatorMemory) -> HeldClaims {
    let leases: BTreeSet<Uid> = view.blocks.iter().map(|view| view.block.uid).collect();
    let mut claims = HeldClaims::new();
    for (node, said) in &view.said {
        let claimant = view.claimant(&said.spec);
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
            let counted = counted.entry(pool.lease.key.uid).or_default();
            let case = HeldCase {
                space: &space.space,
                cidr: held.cidr,
                said: &said.spec,
                claimant,
                pool: Some(&pool.lease),
                selected: view.admits(pool, &said.spec),
                ended: memory.has_ended(node, held.cidr),
                counted: *counted,
            };
            let unreadable =
                view.unreadable_blocks.iter().any(|(of, cidr)| of == group && *cidr == held.cidr);
            let verdict = if unreadable {
                // There is an IPBlock, in words of another version: it is not lost.
                HeldVerdict::Taken
            } else {
                judge_missing(LeaseRules::ALL, &case)
            };
            if verdict != HeldVerdict::Free {
                let (node, pool) = (node.to_string(), pool.lease.key.uid);
                let claim = HeldClaim { node, uid: held.uid, pool, claimant, verdict };
                *counted += u32::from(claim.is_believed());
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
