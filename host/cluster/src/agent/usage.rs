//! The use of a block's addresses, as the ledger has it.

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

/// The use of a block. An address counts wherever it came from, and whether or not its range is still there.
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
    let views = labelled(book).filter(|(_, _, of)| *of == cidr);
    let (held, cooling) =
        views.fold((0, 0), |(held, cooling), (_, view, _)| (held + view.held, cooling + view.cooling));
    usage.quarantined = small(held).saturating_sub(usage.in_use.saturating_add(usage.promised));
    usage.cooling = small(cooling);
    usage
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
