//! The use of a block's addresses, as the ledger has it.

use std::net::IpAddr;

use ipnet::IpNet;
use tenure_leases::agent::ledger::BlockUsage;
use tenure_ledger::{Book, RangeView};
use tenure_types::{Owner, Pool, agreed};

/// The ranges of a book with a block's label, each with its pool.
pub(crate) fn labelled(book: &Book) -> impl Iterator<Item = (&Pool, RangeView<'_>, IpNet)> {
    let pools = book.pools().iter().enumerate();
    let ranges = pools.flat_map(|(index, pool)| book.ranges(index).map(move |view| (pool, view)));
    ranges.filter_map(|(pool, view)| {
        let cidr = view.range.attributes().get(agreed::BLOCK)?.parse().ok()?;
        Some((pool, view, cidr))
    })
}

/// The use of a block. An address counts wherever it came from, and whether or not its range is still there: the ranges of a pool that its network no
/// longer uses go at once, and what cools down or is in quarantine stays.
#[must_use]
pub(crate) fn usage(book: &Book, cidr: IpNet) -> BlockUsage {
    let mut usage = BlockUsage::default();
    for allocation in book.allocations() {
        let here = allocation.addresses.iter().filter(|address| cidr.contains(&address.ip())).count();
        let count = match allocation.owner {
            Owner::Claim { .. } => &mut usage.promised,
            Owner::Attachment { .. } | Owner::Unknown { .. } => &mut usage.in_use,
        };
        *count = count.saturating_add(number(here));
    }
    let marked = book.quarantined();
    // One that has an owner is in use.
    let withheld = marked.iter().filter(|marked| marked.owner.is_none() && cidr.contains(&marked.address));
    usage.quarantined = number(withheld.count());
    usage.cooling = number(book.cooling_addresses().filter(|(address, _)| cidr.contains(address)).count());
    usage
}

/// The use of a block of which these addresses of agents' claims are still to be restored, too.
#[must_use]
pub(crate) fn with_awaited(usage: BlockUsage, cidr: IpNet, awaited: &[IpAddr]) -> BlockUsage {
    let here = awaited.iter().filter(|address| cidr.contains(*address)).count();
    BlockUsage { promised: usage.promised.saturating_add(number(here)), ..usage }
}

/// The free addresses of a block that is handed out from.
#[must_use]
pub(crate) fn free(book: &Book, cidr: IpNet) -> u32 {
    let open = labelled(book).filter(|(_, view, of)| *of == cidr && !view.draining);
    open.map(|(_, view, _)| {
        let used = small(view.held).saturating_add(small(view.cooling));
        view.range.size().saturating_sub(used)
    })
    .fold(0, u32::saturating_add)
}

fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tenure_engine::Del;
    use tenure_fixtures::ports::ManualClock;
    use tenure_leases::agent::ledger::{LeaseHold, LedgerBlock};
    use tenure_leases::agent::mark::{MarkCase, MarkVerdict, answer};
    use tenure_leases::block::RefusalReason;
    use tenure_leases::{BlockMark, LeaseRules, MarkAnswer, MarkId, MarkReason, Uid};

    use super::*;
    use crate::agent::sample::{agent_with, lease, network, owner, unreachable};

    /// Regression: a block whose pool was taken out of the network looked empty, and went to another node with what cooled down and was in quarantine.
    #[tokio::test]
    async fn what_cools_down_and_is_in_quarantine_counts_also_once_the_network_no_longer_uses_the_pool() {
        let clock = Arc::new(ManualClock::default());
        let (core, _abandoned) = agent_with(unreachable(), Arc::clone(&clock) as _, 1).await;
        core.record(&lease()).await.unwrap();
        core.is_told();
        core.supply_all().await;
        for pod in ["first", "second", "third"] {
            assert!(core.takes(network(), pod).await.is_some());
        }
        let printer = core.takes(network(), "printer").await.unwrap().parse().unwrap();
        for pod in ["second", "third", "printer"] {
            let del = Del { network: network(), owner: owner(pod), requested_at: core.engine.now() };
            core.engine.del(del).await.unwrap();
        }
        assert!(core.engine.quarantine(&network(), printer, "a printer has it").await.unwrap());
        let expected = BlockUsage { in_use: 1, quarantined: 1, cooling: 2, ..BlockUsage::default() };
        for has_pool in [true, false, true] {
            core.redefine(has_pool).await;
            core.supply_all().await;
            assert_eq!(core.row_of_block().await, expected, "with its pool: {has_pool}");
        }
        core.redefine(false).await;
        clock.advance(Duration::from_secs(3_600));
        core.engine.look_at_networks();
        assert_eq!(core.row_of_block().await, BlockUsage { cooling: 0, ..expected });
    }

    /// The answer to a mark of a block in which these addresses of agents' claims are still to be restored.
    fn answered(why: MarkReason, awaited: &[&str]) -> MarkVerdict {
        let cidr: IpNet = "10.0.0.0/26".parse().unwrap();
        let awaited: Vec<IpAddr> = awaited.iter().map(|address| address.parse().unwrap()).collect();
        let usage = with_awaited(BlockUsage::default(), cidr, &awaited);
        let row = LedgerBlock { cidr, uid: Uid(1), hold: LeaseHold::Open, usage };
        let case = MarkCase {
            uid: Uid(1),
            mark: BlockMark { id: MarkId(2), why },
            row: Some(row),
            dropped: false,
            accepting: false,
            lost: false,
            other_open: 1,
            keeps_reserve: true,
        };
        answer(LeaseRules::ALL, &case)
    }

    #[test]
    fn a_block_with_the_address_of_a_claim_that_is_to_be_restored_is_not_frozen() {
        assert_eq!(answered(MarkReason::Excess, &["10.0.1.9"]), MarkVerdict::Freeze);
        let refused = MarkVerdict::Answer(MarkAnswer::Refused(RefusalReason::Claimed));
        assert_eq!(answered(MarkReason::Excess, &["10.0.1.9", "10.0.0.9"]), refused);
        assert_eq!(answered(MarkReason::Drain, &["10.0.0.9"]), MarkVerdict::Cordon);
    }
}
