//! Taking a turn with the address of a claim: the checks between a pod's wish and the first use of the address.
//!
//! ```text
//!   a pod names a claim ──▶ draw a turn, say it in NodeIPAM ──▶ GET block (quorum): the turn is mine ──▶ GET space (quorum) ──▶ record ──▶ use
//! ```
//!
//! The order is the point: what is in the block is the operator's answer to this very turn, and not to one that ended.

use crate::{AddressSpace, BlockPhase, HolderIdentity, IpBlock, SpaceError, TurnId};

/// Everything that decides about taking a turn.
#[derive(Debug)]
pub struct TakeCase<'a> {
    /// The node.
    pub me: &'a HolderIdentity,
    /// The turn that the node says.
    pub turn: TurnId,
    /// The quorum GET of the claim's block, made first.
    pub block: &'a IpBlock,
    /// The turn that the block names.
    pub active: Option<TurnId>,
    /// The quorum GET of the space, made after the block's; `None` if there is none.
    pub space: Option<&'a AddressSpace>,
}

/// The reason for which a node does not have the address yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TakeRefusal {
    /// No node has it; the operator has not answered yet.
    #[error("the operator has not answered yet")]
    Unanswered,
    /// Another node has it, or this one in a turn that ended.
    #[error("another node has the address")]
    Others,
    /// The node that has it looks dead, this one included, or the lease ends.
    #[error("the address is being taken back")]
    Leaving,
    /// The space does not admit it.
    #[error(transparent)]
    Space(#[from] SpaceError),
}

/// Decides whether the node has the address.
///
/// # Errors
/// The first check that fails. Nothing is recorded then.
pub fn take(case: &TakeCase<'_>) -> Result<(), TakeRefusal> {
    let (me, block) = (case.me, case.block);
    match case.active {
        None => return Err(TakeRefusal::Unanswered),
        Some(active) if active != case.turn => return Err(TakeRefusal::Others),
        Some(_) => {}
    }
    if !block.is_held_by(&me.name, me.machine) || !block.names_node(me.uid) {
        return Err(TakeRefusal::Others);
    }
    if block.deleting || block.phase != BlockPhase::Leased {
        return Err(TakeRefusal::Leaving);
    }
    let unknown = SpaceError::Unknown(block.range);
    case.space.ok_or(unknown)?.admit_claim(block.range, block.cidr)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;
    use crate::{LeaseRules, RangeId, RangeState, RangeUse, SpaceRange};

    #[test]
    fn a_node_uses_the_address_in_its_own_turn_only() {
        let me = sample::block().holder;
        let cidr = "10.9.0.9/32".parse().unwrap();
        let block = IpBlock { cidr, range: RangeId(9), ..sample::block() };
        let range = |usage, unit| SpaceRange {
            id: RangeId(9),
            cidr: "10.9.0.0/24".parse().unwrap(),
            unit,
            usage,
            pool: block.pool.clone(),
            state: RangeState::Open,
        };
        let space = |range| {
            let mut space = AddressSpace::default();
            space.add(LeaseRules::ALL, range).unwrap();
            space
        };
        let (claims, blocks) = (space(range(RangeUse::Claims, 32)), space(range(RangeUse::Blocks, 32)));
        let case = |block: &IpBlock, active: Option<u64>, space: Option<&AddressSpace>| {
            take(&TakeCase { me: &me, turn: TurnId(1), block, active: active.map(TurnId), space })
        };
        assert_eq!(case(&block, Some(1), Some(&claims)), Ok(()));
        assert_eq!(case(&block, None, Some(&claims)), Err(TakeRefusal::Unanswered));
        assert_eq!(case(&block, Some(2), Some(&claims)), Err(TakeRefusal::Others));
        let others =
            IpBlock { holder: HolderIdentity { name: "other".into(), ..me.clone() }, ..block.clone() };
        assert_eq!(case(&others, Some(1), Some(&claims)), Err(TakeRefusal::Others));
        let quarantined = IpBlock { phase: BlockPhase::Quarantined, ..block.clone() };
        assert_eq!(case(&quarantined, Some(1), Some(&claims)), Err(TakeRefusal::Leaving));
        let deleted = IpBlock { deleting: true, ..block.clone() };
        assert_eq!(case(&deleted, Some(1), Some(&claims)), Err(TakeRefusal::Leaving));
        assert!(matches!(case(&block, Some(1), Some(&blocks)), Err(TakeRefusal::Space(_))));
        assert!(matches!(case(&block, Some(1), None), Err(TakeRefusal::Space(_))));
    }
}
