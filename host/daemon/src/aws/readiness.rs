//! Whether the network has the addresses without which the node should get no pods.

use tenure_ledger::Book;

/// Describes how far the network is from this many addresses in each pool; `None` if it has them. Addresses in use
/// count: a node whose addresses are all in use works.
pub(crate) fn missing(book: &Book, each: u32) -> Option<String> {
    let short = book.pools().iter().enumerate().find_map(|(index, pool)| {
        let usable = |view: tenure_ledger::RangeView<'_>| match view.draining {
            true => view.held,
            false => u64::from(view.range.size()),
        };
        let has = book.ranges(index).map(usable).fold(0_u64, u64::saturating_add);
        (has < u64::from(each)).then(|| (pool.name.to_string(), has))
    });
    let (pool, has) = short?;
    Some(format!("pool {pool} has {has} of the {each} addresses that `aws.ready_addresses` demands"))
}
