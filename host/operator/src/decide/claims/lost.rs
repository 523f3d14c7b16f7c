//! Addresses of claims whose lease is lost. After a backup was put back, neither an IPBlock nor the claim's status may know them.
//!
//! A node that has such an address names the claim for which it has it, so that the claim gets it again. What no claim gets is asked back: otherwise the
//! node would give it to its pods for ever, and its pool could not be deleted.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use tenure_cluster::convert::ClaimWish;
use tenure_leases::{ClaimKind, ClaimTurn, TurnState};

use crate::view::{ClusterView, is_ipv6};

/// A claim by the kind, the namespace and the name of its object.
type ClaimKey<'a> = (&'a str, &'a str, &'a str);

/// The claims that stay and have no lease, and the addresses that they had.
#[derive(Default)]
pub(super) struct LostLeases<'a> {
    /// The turns of nodes that have an address, by the claim for which they have it.
    held: BTreeMap<ClaimKey<'a>, Vec<&'a ClaimTurn>>,
    /// The claims, each with the family of which it has no lease: whether that is IPv6, or `None` for any.
    without: BTreeSet<(ClaimKey<'a>, Option<bool>)>,
    /// The addresses in the statuses of those claims.
    told: BTreeSet<IpNet>,
}

impl<'a> LostLeases<'a> {
    /// Gathers what nodes have, and the wishes of claims that stay without a lease.
    pub(super) fn gather(
        view: &'a ClusterView,
        turns: impl Iterator<Item = &'a ClaimTurn>,
        unleased: impl Iterator<Item = &'a ClaimWish>,
    ) -> Self {
        let mut lost = Self::default();
        for turn in turns.filter(|turn| turn.state == TurnState::Held) {
            let Some(claim) = &turn.claim else { continue };
            let key = (claim.kind.as_str(), claim.namespace.as_str(), claim.name.as_str());
            lost.held.entry(key).or_default().push(turn);
        }
        for wish in unleased {
            lost.without.insert((key(wish), wish.is_ipv6));
            lost.told.extend(told(wish));
        }
        for claim in view.ipam_claims.iter().flatten().filter(|claim| claim.wishes.is_empty()) {
            // What it wishes for is not known: it cannot be read, or no pool is its network's at the moment.
            let metadata = &claim.object.metadata;
            let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
            if let (None, Some(namespace), Some(name)) = (&metadata.deletion_timestamp, namespace, name) {
                lost.without.insert(((ClaimKind::Ipam.as_str(), namespace, name), None));
            }
        }
        lost
    }

    /// The addresses of an overlap group that a claim had before its lease was lost: the one in its status, and those that nodes have for it, the ones for
    /// this very object before those for one that had its name.
    pub(super) fn had(&self, wish: &ClaimWish, group: &str) -> Vec<IpNet> {
        let is_this = |turn: &ClaimTurn| {
            turn.claim.as_ref().is_some_and(|claim| claim.uid.to_string() == wish.claim.uid)
        };
        let held = self.held.get(&key(wish)).into_iter().flatten();
        let mut held: Vec<&ClaimTurn> = held.filter(|turn| turn.block.group() == group).copied().collect();
        held.sort_by_key(|turn| (!is_this(turn), turn.block.cidr()));
        told(wish).into_iter().chain(held.iter().map(|turn| turn.block.cidr())).collect()
    }

    /// Whether a claim without a lease may get the address of a turn.
    pub(super) fn is_awaited(&self, turn: &ClaimTurn) -> bool {
        let cidr = turn.block.cidr();
        let waits = turn.claim.as_ref().is_some_and(|claim| {
            let key = (claim.kind.as_str(), claim.namespace.as_str(), claim.name.as_str());
            [None, Some(is_ipv6(cidr))].iter().any(|family| self.without.contains(&(key, *family)))
        });
        waits || self.told.contains(&cidr)
    }
}

fn key(wish: &ClaimWish) -> ClaimKey<'_> {
    (&wish.claim.kind, &wish.claim.namespace, &wish.claim.name)
}

/// The address in a claim's status, unless the claim asks for another one.
fn told(wish: &ClaimWish) -> Option<IpNet> {
    let before = wish.before.filter(|before| wish.address.is_none_or(|address| address == *before));
    before.map(IpNet::from)
}
