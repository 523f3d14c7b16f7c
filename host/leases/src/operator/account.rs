//! A pool's capacity in blocks, and the conditions that follow from it.
//!
//! ```text
//!   condition            True                                            False, with the reason
//!   ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
//!   Ready                all others are as they should be                the first of the reasons below
//!   Allocatable          a block would be granted                        Disabled, Deleting, RangeOverlap, SpaceFull,
//!                                                                        InvalidSelector
//!   Exhausted            no block is free and a node wants one           BlocksFree
//!   Draining             a block is wanted back from a node in use       NothingToDrain
//!   ExclusionsInForce    every holder echoed the pool's generation       WaitingForNodes
//! ```

use crate::{BlockPhase, IpBlock, LeasePool};

/// Blocks of one pool and family.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolCapacity {
    /// Cells of its open ranges that can be granted at all.
    pub total: u64,
    /// Leased blocks.
    pub leased: u64,
    /// Blocks in quarantine.
    pub quarantined: u64,
    /// Cells that can be granted. Blocks outside of the open ranges, which drain, are not subtracted.
    pub free: u64,
}

/// A condition of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolCondition {
    /// The condition's type.
    pub name: &'static str,
    /// The condition's status.
    pub is_true: bool,
    /// The reason, in CamelCase.
    pub reason: &'static str,
}

/// The facts about a pool besides its capacity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolSituation {
    /// The space refused one of its ranges, which overlaps another.
    pub overlaps: bool,
    /// The space refused one of its ranges, since it has as many as it can have.
    pub is_space_full: bool,
    /// The selector of nodes is not valid.
    pub selects_nobody: bool,
    /// Nodes that would get a block if one were free.
    pub nodes_waiting: u32,
    /// Blocks with a mark to drain or retire.
    pub draining: u32,
    /// Holders that have not echoed the pool's present generation.
    pub echoes_missing: u32,
}

/// Counts a pool's blocks. `cells` is the number of cells of its open ranges that can be granted at all, and each block comes with whether it is one of
/// them.
#[must_use]
pub fn capacity<'a>(cells: u64, blocks: impl IntoIterator<Item = (&'a IpBlock, bool)>) -> PoolCapacity {
    let mut capacity = PoolCapacity { total: cells, ..PoolCapacity::default() };
    let mut inside = 0;
    for (block, in_open_range) in blocks {
        match block.phase {
            BlockPhase::Quarantined => capacity.quarantined += 1,
            BlockPhase::Leased | BlockPhase::Orphaned => capacity.leased += 1,
        }
        inside += u64::from(in_open_range);
    }
    capacity.free = cells.saturating_sub(inside);
    capacity
}

/// States a pool's conditions, in a fixed order, so that a status that says the same is not written again.
#[must_use]
pub fn conditions(pool: &LeasePool, capacity: &PoolCapacity, now: &PoolSituation) -> [PoolCondition; 5] {
    let condition = |name, is_true, reason| PoolCondition { name, is_true, reason };
    let allocatable = match (pool.deleting, pool.disabled, now.overlaps) {
        (true, _, _) => condition("Allocatable", false, "Deleting"),
        (_, true, _) => condition("Allocatable", false, "Disabled"),
        (_, _, true) => condition("Allocatable", false, "RangeOverlap"),
        _ if now.is_space_full => condition("Allocatable", false, "SpaceFull"),
        _ if now.selects_nobody => condition("Allocatable", false, "InvalidSelector"),
        _ => condition("Allocatable", true, "RangesOpen"),
    };
    let exhausted = match capacity.free == 0 && now.nodes_waiting > 0 {
        true => condition("Exhausted", true, "NoBlockFree"),
        false => condition("Exhausted", false, "BlocksFree"),
    };
    let draining = match now.draining > 0 {
        true => condition("Draining", true, "BlocksInUse"),
        false => condition("Draining", false, "NothingToDrain"),
    };
    let exclusions = match now.echoes_missing {
        0 => condition("ExclusionsInForce", true, "AllNodes"),
        _ => condition("ExclusionsInForce", false, "WaitingForNodes"),
    };
    let ready = if !allocatable.is_true {
        condition("Ready", false, allocatable.reason)
    } else if exhausted.is_true {
        condition("Ready", false, exhausted.reason)
    } else if !exclusions.is_true {
        condition("Ready", false, exclusions.reason)
    } else {
        condition("Ready", true, "Serving")
    };
    [ready, allocatable, exhausted, draining, exclusions]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;

    #[test]
    fn blocks_are_counted_by_phase_and_those_outside_take_no_free_cell() {
        let leased = sample::block();
        let quarantined = IpBlock { phase: BlockPhase::Quarantined, ..sample::block() };
        let orphaned = IpBlock { phase: BlockPhase::Orphaned, ..sample::block() };
        let counted = capacity(10, [(&leased, true), (&quarantined, true), (&orphaned, false)]);
        assert_eq!(counted, PoolCapacity { total: 10, leased: 2, quarantined: 1, free: 8 });
        assert_eq!(capacity(0, [(&leased, true)]).free, 0);
    }

    #[test]
    fn ready_names_the_first_reason() {
        let pool = LeasePool::new(sample::pool());
        let capacity = PoolCapacity { total: 4, leased: 4, quarantined: 0, free: 0 };
        let reasons = |pool: &LeasePool, now: &PoolSituation| {
            conditions(pool, &capacity, now).map(|condition| (condition.is_true, condition.reason))
        };
        let calm = PoolSituation::default();
        assert_eq!(reasons(&pool, &calm)[0], (true, "Serving"));
        let waiting = PoolSituation { nodes_waiting: 1, echoes_missing: 1, draining: 1, ..calm };
        assert_eq!(
            reasons(&pool, &waiting),
            [
                (false, "NoBlockFree"),
                (true, "RangesOpen"),
                (true, "NoBlockFree"),
                (true, "BlocksInUse"),
                (false, "WaitingForNodes")
            ]
        );
        let disabled = LeasePool { disabled: true, ..pool.clone() };
        assert_eq!(reasons(&disabled, &waiting)[0], (false, "Disabled"));
        assert_eq!(reasons(&pool, &PoolSituation { overlaps: true, ..calm })[0], (false, "RangeOverlap"));
        assert_eq!(reasons(&pool, &PoolSituation { is_space_full: true, ..calm })[0], (false, "SpaceFull"));
        let typo = PoolSituation { selects_nobody: true, ..calm };
        assert_eq!(reasons(&pool, &typo)[0], (false, "InvalidSelector"));
        let deleting = LeasePool { deleting: true, ..pool };
        assert_eq!(reasons(&deleting, &calm)[1], (false, "Deleting"));
    }
}
