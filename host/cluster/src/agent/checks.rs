//! The checks on effects about blocks, within the book's critical section.

use std::collections::BTreeSet;
use std::sync::Mutex;

use ipnet::IpNet;
use tenure_effects::Ids;
use tenure_engine::ports::Outside;
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
    let family = PoolFamily::of(lease.cidr());
    let is_other = |other: &&HeldLease| {
        other.pool == lease.pool
            && other.cidr() != lease.cidr()
            && PoolFamily::of(other.cidr()) == family
            && other.hold == tenure_leases::agent::ledger::LeaseHold::Open
            && core.giving_back(other.cidr()).is_none()
    };
    let leases = core.leases();
    let others: Vec<&HeldLease> = leases.values().filter(is_other).collect();
    let left = others.iter().map(|other| free(book, other.cidr())).fold(0, u32::saturating_add);
    MarkCase {
        uid: lease.uid,
        mark,
        row: Some(core.row(lease, Some(book))),
        dropped: core.dropped().contains_key(&lease.uid),
        accepting: false,
        lost: core.state().is_lost,
        other_open: u32::try_from(others.len()).unwrap_or(u32::MAX),
        keeps_reserve: left >= core.settings.preallocation,
    }
}
