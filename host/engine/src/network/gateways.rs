//! Gateways, network and broadcast addresses that are the address of a live allocation.
//!
//! No proposal gets such an address, but a redefinition can move one onto an address that is held. The allocation stays with
//! its owner; pods that are added from then on would send everything to it, so it is said until one of them goes.

use std::net::IpAddr;

use tenure_ledger::Book;

/// Describes each range of a network whose reserved addresses are held.
pub(crate) fn held(book: &Book) -> Vec<String> {
    let ranges = (0..book.pools().len()).flat_map(|pool| book.ranges(pool)).map(|view| view.range);
    let mut told: Vec<String> = ranges
        .flat_map(|range| {
            let ends = [range.subnet().network(), range.subnet().broadcast()];
            let reserved = ends.into_iter().chain(range.gateway());
            let mut held: Vec<(IpAddr, &'static str)> = reserved
                .filter(|address| book.holder(*address).is_some())
                .filter_map(|address| Some((address, range.reserved(address)?)))
                .collect();
            held.dedup();
            held.into_iter().map(move |(address, what)| {
                format!("{address}, {what} of range {}, is the address of a live allocation", range.name())
            })
        })
        .collect();
    told.sort_unstable();
    told.dedup();
    told
}
