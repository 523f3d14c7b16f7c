//! Accepting a block: the checks between a hint and the first address.
//!
//! ```text
//!   hint ──▶ not in the ledger, not dropped ──▶ GET block (quorum) ──▶ GET space (quorum) ──▶ record ──▶ the network grows
//! ```
//!
//! The order is the point: a block that is accepted while its range is open existed before the range was closed, so the LIST that finds the range
//! empty shows it. Nothing is recorded before both answers are there. A crash in between forgets everything and begins again at the hint.

use ipnet::IpNet;

use crate::agent::ledger::LedgerBlock;
use crate::space::overlap;
use crate::{
    AddressSpace, BlockHint, BlockPhase, FetchedBlock, HolderIdentity, LeaseRule, LeaseRules, SpaceError,
};

/// Everything that decides about accepting a block.
#[derive(Debug)]
pub struct AcceptCase<'a> {
    /// The node.
    pub me: &'a HolderIdentity,
    /// The operator's hint.
    pub hint: BlockHint,
    /// The quorum GET of the block, made first.
    pub block: &'a FetchedBlock,
    /// The quorum GET of the space, made after the block's; `None` if there was no answer.
    pub space: Option<&'a AddressSpace>,
    /// Whether the lease was given back within the last 30 days.
    pub dropped: bool,
    /// The ledger's blocks, and the addresses of claims.
    pub ledger: &'a [LedgerBlock],
    /// Whether the ledger has [`MAX_HELD`](crate::node::MAX_HELD) blocks: the node could not say that it holds another one.
    pub is_full: bool,
}

/// Why a block is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcceptRefusal {
    /// The lease was given back. Marks on it are answered with ready.
    #[error("the lease was given back")]
    Dropped,
    /// The ledger has these addresses, or some of them. Nothing was used of the block, which is given back at once.
    #[error("the ledger holds {0}")]
    Overlaps(IpNet),
    /// The node has as many blocks as it can say that it holds: two leaders granted at once. Nothing was used of the block, which is given back at once.
    #[error("the ledger has as many blocks as the node can name")]
    Full,
    /// No answer to one of the GETs; to be tried again.
    #[error("the API server did not answer")]
    NoAnswer,
    /// There is no such block, or another has its name: a late hint.
    #[error("the block is gone")]
    Gone,
    /// The block's addresses are not those of the hint.
    #[error("the block has other addresses")]
    OtherAddresses,
    /// The block is leased to another node or machine.
    #[error("the block is leased to another node")]
    NotMine,
    /// The block is being deleted, in quarantine, or orphaned.
    #[error("the block is being taken back")]
    Leaving,
    /// The operator already wants it back. The mark is answered; accepting comes after, if it is taken back.
    #[error("the block is marked")]
    Marked,
    /// The space does not admit it.
    #[error(transparent)]
    Space(#[from] SpaceError),
}

/// Decides whether the block becomes part of the ledger.
///
/// # Errors
/// The first check that fails. Nothing is recorded then.
pub fn accept(rules: LeaseRules, case: &AcceptCase<'_>) -> Result<(), AcceptRefusal> {
    if case.dropped && rules.has(LeaseRule::Tombstones) {
        return Err(AcceptRefusal::Dropped);
    }
    if let Some(held) = case.ledger.iter().find(|held| overlap(held.cidr, case.hint.cidr)) {
        return Err(AcceptRefusal::Overlaps(held.cidr));
    }
    if case.is_full {
        return Err(AcceptRefusal::Full);
    }
    if !rules.has(LeaseRule::GetBeforeUse) {
        return Ok(());
    }
    let block = match case.block {
        FetchedBlock::Found(block) if block.uid == case.hint.uid => block,
        FetchedBlock::Found(_) | FetchedBlock::Missing => return Err(AcceptRefusal::Gone),
        FetchedBlock::Unreachable => return Err(AcceptRefusal::NoAnswer),
    };
    if block.cidr != case.hint.cidr {
        return Err(AcceptRefusal::OtherAddresses);
    }
    if !block.is_held_by(&case.me.name, case.me.machine) || !block.names_node(case.me.uid) {
        return Err(AcceptRefusal::NotMine);
    }
    if block.deleting || block.phase != BlockPhase::Leased {
        return Err(AcceptRefusal::Leaving);
    }
    if block.mark.is_some() {
        return Err(AcceptRefusal::Marked);
    }
    if rules.has(LeaseRule::SpaceAfterBlock) {
        let space = case.space.ok_or(AcceptRefusal::NoAnswer)?;
        space.admit(block.range, block.cidr)?;
    }
    Ok(())
}
