//! The block that a claim keeps, of those that two leaders may have leased to it.

use std::collections::{BTreeSet, HashMap};

use tenure_cluster::convert::ClaimWish;

use crate::view::{BlockView, ClusterView, is_ipv6};

/// Whether a block is of a wish's claim and family.
fn is_of(block: &BlockView, wish: &ClaimWish) -> bool {
    let is_claims = block.claimed.as_ref().is_some_and(|of| of.claim.uid == wish.claim.uid);
    is_claims && wish.is_ipv6.is_none_or(|ipv6| is_ipv6(block.block.cidr) == ipv6)
}

/// The block of a wish: of those that two leaders may have leased, the one that the claim's status names, else one with a turn, else the first.
pub(super) fn kept<'a>(
    blocks: impl Iterator<Item = &'a BlockView>,
    wish: &ClaimWish,
) -> Option<&'a BlockView> {
    blocks.filter(|block| is_of(block, wish)).min_by_key(|block| {
        let is_told = wish.before == Some(block.block.cidr.addr());
        let has_turn = block.claimed.as_ref().is_some_and(|claimed| claimed.turn.is_some());
        (!is_told, !has_turn)
    })
}

/// The names of the blocks of claims that have another one of the family.
pub(super) fn surplus<'a>(
    view: &'a ClusterView,
    of_claims: &HashMap<&'a str, Vec<&'a BlockView>>,
) -> BTreeSet<&'a str> {
    let ipam = view.ipam_claims.iter().flatten().flat_map(|claim| &claim.wishes);
    let wishes = view.claims.iter().map(|claim| &claim.wish).chain(ipam);
    let surplus = wishes.flat_map(|wish| {
        let blocks = of_claims.get(wish.claim.uid.as_str()).map(Vec::as_slice).unwrap_or_default();
        let kept = kept(blocks.iter().copied(), wish).map(|block| &block.name);
        let others = blocks.iter().filter(move |block| is_of(block, wish) && Some(&block.name) != kept);
        others.map(|block| block.name.as_str()).collect::<Vec<_>>()
    });
    surplus.collect()
}
