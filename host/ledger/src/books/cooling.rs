//! The cooling addresses, in the order in which they were freed.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tenure_types::Moment;

/// Cooling addresses, each with its place in the queue.
#[derive(Debug, Clone, Default)]
pub(super) struct CoolingQueue {
    by_place: BTreeMap<u64, (IpAddr, Moment)>,
    places: BTreeMap<IpAddr, u64>,
    next: u64,
}

impl CoolingQueue {
    /// Appends an address; returns its place.
    pub(super) fn push(&mut self, address: IpAddr, since: Moment) -> u64 {
        let place = self.next;
        self.next += 1;
        self.by_place.insert(place, (address, since));
        self.places.insert(address, place);
        place
    }

    /// Removes an address; returns its place, if it was there.
    pub(super) fn remove(&mut self, address: IpAddr) -> Option<u64> {
        let place = self.places.remove(&address)?;
        self.by_place.remove(&place);
        Some(place)
    }

    /// The address that was freed first.
    pub(super) fn first(&self) -> Option<(IpAddr, Moment)> {
        self.by_place.first_key_value().map(|(_, freed)| *freed)
    }

    pub(super) fn since(&self, address: IpAddr) -> Option<Moment> {
        Some(self.by_place.get(self.places.get(&address)?)?.1)
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (IpAddr, Moment)> {
        self.by_place.values().copied()
    }

    /// The cooling addresses from `first` to `last`, with their places.
    pub(super) fn between(&self, first: IpAddr, last: IpAddr) -> Vec<(u64, IpAddr)> {
        self.places.range(first..=last).map(|(address, place)| (*place, *address)).collect()
    }

    /// Restarts every cooldown.
    pub(super) fn restart(&mut self, now: Moment) {
        self.by_place.values_mut().for_each(|(_, since)| *since = now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn addresses_are_found_by_place_and_by_range() {
        let mut queue = CoolingQueue::default();
        for (place, last) in (0..).zip([7, 3, 9]) {
            assert_eq!(queue.push(ip(last), Moment::default()), place);
        }
        assert_eq!(queue.between(ip(3), ip(7)), [(1, ip(3)), (0, ip(7))]);
        assert_eq!((queue.remove(ip(7)), queue.remove(ip(7))), (Some(0), None));
        assert_eq!(queue.first().map(|(address, _)| address), Some(ip(3)));
        assert_eq!(queue.between(ip(0), ip(8)), [(1, ip(3))]);
    }
}
