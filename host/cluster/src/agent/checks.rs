//! The checks on effects about blocks, within the book's critical section.

use std::collections::BTreeSet;
use std::sync::Mutex;

use ipnet::IpNet;
use tenure_effects::Ids;
use tenure_engine::ports::Outside;
use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::agent::mark::{MarkCase, MarkVerdict, answer};
use tenure_leases::{BlockMark, LeaseRules};
use tenure_ledger::Book;
use tenure_types::{Effect, EffectKind, IntentId, agreed, hold};

use crate::agent::core::AgentCore;
use crate::agent::records::{HeldLease, MARK};
use crate::agent::settings::{PoolFamily, cluster_pool};
use crate::agent::usage::free;

/// The blocks that a plan offers to the cluster. Behind a `std::sync::Mutex`, held to note one: the checks of a plan share it.
#[derive(Debug, Default)]
pub struct OfferedBlocks(Mutex<BTreeSet<IpNet>>);

impl OfferedBlocks {
    /// The blocks so far.
    pub(crate) fn so_far(&self) -> BTreeSet<IpNet> {
        hold(&self.0).clone()
    }
}

/// The checks of one network's effects.
pub(crate) struct BlockChecks<'a> {
    pub(crate) core: &'a AgentCore,
    pub(crate) offered: &'a OfferedBlocks,
    pub(crate) ids: &'a dyn Ids,
}

impl Outside for BlockChecks<'_> {
    fn new_id(&self) -> IntentId {
        self.ids.new_id()
    }

    fn check(&self, effect: &Effect, book: &Book) -> Result<(), String> {
        match effect.kind {
            EffectKind::RequestBlock => self.check_request(effect, book),
            EffectKind::GiveBackBlock => self.check_give_back(effect, book),
            other => Err(format!("{} is not an effect on blocks", other.name())),
        }
    }
}

impl BlockChecks<'_> {
    fn check_request(&self, effect: &Effect, book: &Book) -> Result<(), String> {
        let pool = book.pools().get(effect.pool).map(|pool| &pool.name);
        if let Some(pool) = pool.filter(|pool| self.core.lacks_family(pool)) {
            return Err(format!("the AddressPool of pool {pool} has no addresses of this family"));
        }
        match pool.and_then(cluster_pool).filter(|(name, _)| self.core.is_for_claims(name)) {
            Some((name, _)) => {
                Err(format!("addresses of AddressPool {name} are for claims, and come with them"))
            }
            None => Ok(()),
        }
    }

    fn check_give_back(&self, effect: &Effect, book: &Book) -> Result<(), String> {
        let block = effect.attributes.get(agreed::BLOCK).unwrap_or_default();
        let cidr: IpNet = block.parse().map_err(|_| format!("{block:?} is not a block"))?;
        let lease = self.core.leases().remove(&cidr).ok_or_else(|| format!("block {cidr} is not leased"))?;
        if effect.attributes.get(MARK).is_none() {
            hold(&self.offered.0).insert(cidr);
            return Err(format!(
                "block {cidr} is offered to the cluster, and goes once the operator asks for it"
            ));
        }
        let mark = marked(self.core, &lease).ok_or("the operator no longer asks for the block")?;
        let case = mark_case(self.core, &lease, mark, book);
        match answer(LeaseRules::ALL, &case) {
            MarkVerdict::Freeze => Ok(()),
            _ => Err(format!("block {cidr} is needed, or not empty")),
        }
    }
}

/// The mark on a lease, as the operator last said.
pub(crate) fn marked(core: &AgentCore, lease: &HeldLease) -> Option<BlockMark> {
    let state = core.state();
    state.told.blocks.iter().find(|hint| hint.uid == lease.uid)?.mark
}

/// Everything that decides about a mark on a lease of the ledger, as the book is now.
pub(crate) fn mark_case(core: &AgentCore, lease: &HeldLease, mark: BlockMark, book: &Book) -> MarkCase {
    let (family, network) = (PoolFamily::of(lease.cidr()), core.settings.network_of(&lease.pool.name));
    // The address of a claim is for the claim's pods alone.
    let is_other = |other: &&HeldLease| {
        core.settings.network_of(&other.pool.name) == network
            && other.cidr() != lease.cidr()
            && other.turn.is_none()
            && PoolFamily::of(other.cidr()) == family
            && other.hold == LeaseHold::Open
            && core.giving_back(other.cidr()).is_none()
    };
    let leases = core.leases();
    let others: Vec<&HeldLease> = leases.values().filter(is_other).collect();
    // The reserve is each pool's own.
    let of_pool = others.iter().filter(|other| other.pool.name == lease.pool.name);
    let left = of_pool.map(|other| free(book, other.cidr())).fold(0, u32::saturating_add);
    // The network hands out nothing of it, and needs no other in its place.
    let is_needed = lease.is_wanted_in(book);
    let other_open = if is_needed { u32::try_from(others.len()).unwrap_or(u32::MAX) } else { 1 };
    MarkCase {
        uid: lease.uid,
        mark,
        row: Some(core.row(lease, Some(book))),
        dropped: core.dropped().contains_key(&lease.uid),
        accepting: false,
        lost: core.state().is_lost,
        other_open,
        keeps_reserve: !is_needed || left >= core.settings.preallocation,
    }
}

#[cfg(test)]
mod tests {
    use tenure_leases::{BlockName, ClaimKind, MarkId, MarkReason, PoolKey, TurnId, Uid};
    use tenure_types::NetworkName;

    use super::*;
    use crate::agent::records::LeaseTurn;
    use crate::agent::sample::{agent, network};
    use crate::pools::ClaimName;

    fn lease(pool: &str, cidr: &str, uid: u128) -> HeldLease {
        HeldLease {
            name: BlockName::new("default", cidr.parse().unwrap()).unwrap(),
            uid: Uid(uid),
            pool: PoolKey { name: pool.into(), uid: Uid(uid) },
            hold: LeaseHold::Open,
            boot: Some(Uid(2)),
            turn: None,
        }
    }

    #[tokio::test]
    async fn a_block_of_another_pool_replaces_the_last_one_in_the_same_network_alone() {
        let (mut core, _abandoned) = agent().await;
        let pools = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        core.settings.networks = [
            (network(), pools(&["names", "more"])),
            (NetworkName::new("storage").unwrap(), pools(&["disks"])),
        ]
        .into();
        let mine = lease("names", "10.0.0.0/26", 1);
        let claim = ClaimName { kind: ClaimKind::Address, namespace: "default".into(), name: "db".into() };
        let pod = "default/db".to_owned();
        let turn = LeaseTurn { claim, uid: None, turn: TurnId(4), pod, guest: None, addresses: 1 };
        let others = [
            (lease("disks", "10.1.0.0/26", 2), 0),
            (HeldLease { turn: Some(turn), ..lease("more", "10.2.0.9/32", 3) }, 0),
            (lease("more", "fd00::/122", 4), 0),
            (HeldLease { hold: LeaseHold::Contested, ..lease("more", "10.2.0.64/26", 5) }, 0),
            (lease("more", "10.2.0.128/26", 6), 1),
            // The pool before one that was made again under its name.
            (lease("names", "10.3.0.0/26", 7), 2),
        ];
        core.record(&mine).await.unwrap();
        let book = core.book(&network()).await.unwrap();
        let mark = BlockMark { id: MarkId(9), why: MarkReason::Drain };
        for (other, open) in others {
            core.record(&other).await.unwrap();
            assert_eq!(mark_case(&core, &mine, mark, &book).other_open, open, "{other:?}");
        }
    }

    #[tokio::test]
    async fn the_last_block_of_a_pool_that_the_network_no_longer_uses_is_not_needed() {
        let (core, _abandoned) = agent().await;
        let mine = lease("names", "10.0.0.0/26", 1);
        core.record(&mine).await.unwrap();
        let mark = BlockMark { id: MarkId(9), why: MarkReason::Drain };
        for (is_used, expected) in [(true, (0, false)), (false, (1, true))] {
            core.redefine(is_used).await;
            let case = mark_case(&core, &mine, mark, &core.book(&network()).await.unwrap());
            assert_eq!((case.other_open, case.keeps_reserve), expected);
        }
    }
}
