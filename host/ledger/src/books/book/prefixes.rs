//! Prefixes in a book: an owner's prefix is one assignment, by its first address, and keeps all its addresses from everybody else.
//!
//! A range that assigns prefixes may contain addresses that are in use one by one, such as those of another IPAM, or those from before
//! the range assigned prefixes. A prefix around such an address is not free. The other way round, no range may assign the addresses of a prefix
//! that has an owner: a definition that would is refused.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use tenure_types::{Allocation, AssignedAddress, Range};

use super::Book;

impl Book {
    /// The first address of the prefix that has an owner and contains an address.
    pub(super) fn prefix_around(&self, address: IpAddr) -> Option<IpAddr> {
        let (first, last) = self.prefixes.range(..=address).next_back()?;
        (address <= *last).then_some(*first)
    }

    /// The allocations that hold an address of an assignment other than the one that stands for it.
    pub(in crate::books) fn holders_inside(
        &self,
        (first, last): (IpAddr, IpAddr),
    ) -> impl Iterator<Item = &Arc<Allocation>> {
        let inside = (first != last).then(|| self.by_address.range(first..=last));
        let others = inside.into_iter().flatten().filter(move |(address, _)| **address != first);
        others.filter_map(|(_, generation)| self.allocation(*generation))
    }

    /// Marks the other addresses of a prefix as taken.
    pub(super) fn occupy(&mut self, assigned: &AssignedAddress) {
        if assigned.is_prefix() {
            let (first, last) = assigned.span();
            self.prefixes.insert(first, last);
            self.taken.insert_all(first, last);
        }
    }

    /// Gives up a prefix; what is in use of it otherwise stays taken.
    pub(super) fn vacate(&mut self, assigned: &AssignedAddress) {
        if !assigned.is_prefix() {
            return;
        }
        let (first, last) = assigned.span();
        self.prefixes.remove(&first);
        self.taken.remove_all(first, last);
        let held = self.by_address.range(first..=last).map(|(address, _)| *address);
        let cooling = self.cooling.between(first, last).into_iter().map(|(_, address)| address);
        held.chain(self.quarantine.between(first, last))
            .chain(cooling)
            .for_each(|address| self.taken.insert(address));
    }

    /// The prefix that has an owner and of which a range would assign addresses, with its allocation.
    pub(in crate::books) fn prefix_in_the_way(&self, range: &Range) -> Option<(IpNet, &Allocation)> {
        let (from, to) = (range.first(), range.last());
        let around = self.prefix_around(from).and_then(|first| self.prefixes.range(first..=first).next());
        let mut owned = around.into_iter().chain(self.prefixes.range(from..=to));
        let is_other = |(first, last): &(&IpAddr, &IpAddr)| {
            !range.assigns_prefixes() || range.span(**first) != (**first, **last) || !range.contains(**last)
        };
        let (first, _) = owned.find(is_other)?;
        let held = self.allocation(*self.by_address.get(first)?)?;
        let prefix = held.addresses.iter().find(|assigned| assigned.ip() == *first)?;
        Some((prefix.address, held))
    }

    /// Whether an address that stands for a prefix has others of that prefix in use.
    pub(in crate::books) fn is_prefix_taken(&self, range: &Range, address: IpAddr) -> bool {
        let (first, last) = range.span(address);
        address == first && first != last && !self.taken.has_none(first, last)
    }
}
