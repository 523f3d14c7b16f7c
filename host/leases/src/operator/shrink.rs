//! Shrinking as drain: when a block is wanted back although its node uses it.
//!
//! ```text
//!   why                                          asked back                                             the node's last open block
//!   ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
//!   the pool is being deleted                    at once, as retire                                     goes
//!   a deletionTimestamp on the IPBlock           at once, as drain                                      after a replacement is held
//!   its CIDR was taken out of the pool           at once, as drain                                      after a replacement is held
//!   the pool excludes each of its addresses      at once, as drain                                      after a replacement is held
//!   contested by another node's held             at once, as drain                                      goes, if the agent agrees
//!   given up by its holder (`returned`)          at once, as drain                                      it is not open
//!   the pool's uid is gone (orphaned)            at once, as drain                                      after a replacement is held
//!   the selector no longer matches the node      after 10 minutes, at most 10 % of the nodes at once    after a replacement is held
//!   the node has it to spare                     while less than 20 % of the pool is free, as excess    never
//!   the CRD is being deleted                     never: it is an accident until proven otherwise        -
//! ```
//!
//! A block that is frozen, or that its node never accepted, is not open, and goes without a replacement: no address comes from it. That may be why the
//! node has no other: it accepts nothing of a closed range, and the pool may have no second one. Nor does a block open again that drains: the node agreed
//! while it had a replacement, and a second edit that asks that one back, too, would have the first one give addresses again.
//!
//! The agent has the last word about a network's last open block ([`agent::mark`](crate::agent::mark)); what is decided here keeps pointless marks away.
//! Which pools are of one network the operator does not know. So a block of another pool counts as a replacement only where the pool has none for the
//! node, and what the agent refuses is asked again once the node holds a further block.

use crate::MarkReason;

/// Seconds for which a selector must have failed to match before its nodes drain: time to notice a typo.
pub const SELECTOR_SECONDS: u64 = 600;

/// The share of a pool's nodes that a changed selector drains at once, as a divisor.
const SELECTOR_SHARE: u32 = 10;

/// The share of a pool's blocks below which it is short, as a divisor.
const SHORT_SHARE: u32 = 5;

/// Everything that decides whether a block is wanted back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShrinkCase {
    /// The CRD has a deletionTimestamp.
    pub crd_deleting: bool,
    /// The pool has a deletionTimestamp.
    pub pool_deleting: bool,
    /// The pool's uid is gone.
    pub orphaned: bool,
    /// The block has a deletionTimestamp.
    pub block_deleting: bool,
    /// The block's CIDR is no longer in the pool's spec.
    pub cidr_removed: bool,
    /// The pool excludes each address of the block.
    pub excluded: bool,
    /// The holder gave the lease up: it lists it in `returned`.
    pub given_up: bool,
    /// Another node's `held` has the block under another uid.
    pub contested: bool,
    /// Seconds for which the pool's selector has not matched the node; `None` while it matches.
    pub unmatched_seconds: Option<u64>,
    /// Nodes that the selector no longer matches and that are draining because of it, this one not counted.
    pub draining_nodes: u32,
    /// Nodes that hold blocks of the pool.
    pub pool_nodes: u32,
    /// Other open blocks of the node of the same family that are not marked: those of the pool, or of all pools if this one grants the node none.
    pub replacements: u32,
    /// The block is not open on its node, which never accepted it, answered ready to a mark and keeps it frozen, or drains it.
    pub not_open: bool,
    /// The block has a mark as one that drains. The budget is for further nodes.
    pub drains: bool,
    /// The node lists the block as idle.
    pub idle: bool,
    /// The pool releases excess.
    pub release_excess: bool,
    /// Blocks of the pool that are free.
    pub free_blocks: u32,
    /// Blocks of the pool.
    pub total_blocks: u32,
}

/// Decides whether a block is wanted back, and why.
#[must_use]
pub fn wanted_back(case: &ShrinkCase) -> Option<MarkReason> {
    if case.crd_deleting {
        return None;
    }
    if case.pool_deleting {
        return Some(MarkReason::Retire);
    }
    if case.contested || case.given_up {
        return Some(MarkReason::Drain);
    }
    let selector = case.unmatched_seconds.is_some_and(|seconds| seconds >= SELECTOR_SECONDS)
        && (case.drains || case.draining_nodes < selector_budget(case.pool_nodes));
    let leaves = case.block_deleting || case.cidr_removed || case.excluded || case.orphaned || selector;
    if leaves && (case.replacements > 0 || case.not_open) {
        return Some(MarkReason::Drain);
    }
    let short = case.free_blocks < case.total_blocks.div_ceil(SHORT_SHARE);
    (case.idle && case.release_excess && short && case.replacements > 0).then_some(MarkReason::Excess)
}

/// The most nodes that a changed selector may drain at once: a tenth of them, and at least one.
#[must_use]
pub fn selector_budget(pool_nodes: u32) -> u32 {
    (pool_nodes / SELECTOR_SHARE).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: ShrinkCase = ShrinkCase {
        crd_deleting: false,
        pool_deleting: false,
        orphaned: false,
        block_deleting: false,
        cidr_removed: false,
        excluded: false,
        contested: false,
        given_up: false,
        unmatched_seconds: None,
        draining_nodes: 0,
        pool_nodes: 50,
        replacements: 1,
        not_open: false,
        drains: false,
        idle: false,
        release_excess: true,
        free_blocks: 100,
        total_blocks: 1000,
    };

    #[test]
    fn one_edit_takes_no_node_its_last_block_unless_the_pool_goes() {
        assert_eq!(wanted_back(&HELD), None);
        let reasons = [
            ShrinkCase { block_deleting: true, ..HELD },
            ShrinkCase { cidr_removed: true, ..HELD },
            ShrinkCase { excluded: true, ..HELD },
            ShrinkCase { orphaned: true, ..HELD },
            ShrinkCase { unmatched_seconds: Some(SELECTOR_SECONDS), draining_nodes: 4, ..HELD },
        ];
        for case in reasons {
            assert_eq!(wanted_back(&case), Some(MarkReason::Drain), "{case:?}");
            assert_eq!(wanted_back(&ShrinkCase { replacements: 0, ..case }), None);
            let not_open = ShrinkCase { replacements: 0, not_open: true, ..case };
            assert_eq!(wanted_back(&not_open), Some(MarkReason::Drain));
            assert_eq!(wanted_back(&ShrinkCase { crd_deleting: true, ..case }), None);
            let deleted = ShrinkCase { replacements: 0, pool_deleting: true, ..case };
            assert_eq!(wanted_back(&deleted), Some(MarkReason::Retire));
        }
        assert_eq!(
            wanted_back(&ShrinkCase { contested: true, replacements: 0, ..HELD }),
            Some(MarkReason::Drain)
        );
    }

    #[test]
    fn a_selector_drains_late_and_a_tenth_of_the_nodes_at_once() {
        let unmatched = ShrinkCase { unmatched_seconds: Some(SELECTOR_SECONDS), ..HELD };
        assert_eq!(wanted_back(&ShrinkCase { unmatched_seconds: Some(SELECTOR_SECONDS - 1), ..HELD }), None);
        assert_eq!(wanted_back(&ShrinkCase { draining_nodes: 5, ..unmatched }), None);
        // Another node left the pool, which lowered the budget.
        let drains = ShrinkCase { draining_nodes: 5, drains: true, ..unmatched };
        assert_eq!(wanted_back(&drains), Some(MarkReason::Drain));
        assert_eq!(wanted_back(&ShrinkCase { unmatched_seconds: None, ..drains }), None, "it matches again");
        assert_eq!([0, 9, 10, 5000].map(selector_budget), [1, 1, 1, 500]);
    }

    #[test]
    fn excess_is_wanted_while_the_pool_is_short() {
        let idle = ShrinkCase { idle: true, ..HELD };
        assert_eq!(wanted_back(&idle), Some(MarkReason::Excess));
        for case in [
            ShrinkCase { free_blocks: 200, ..idle },
            ShrinkCase { release_excess: false, ..idle },
            ShrinkCase { replacements: 0, ..idle },
            ShrinkCase { idle: false, ..idle },
        ] {
            assert_eq!(wanted_back(&case), None, "{case:?}");
        }
    }
}
