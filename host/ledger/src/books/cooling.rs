//! The cooling addresses, in the order in which they were freed.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use tenure_types::Moment;

use super::shared_map::{SharedMap, SharedSet};

/// A freed address that cools down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoolingAddress {
    /// The address.
    pub address: IpAddr,
    /// Time of the release.
    pub since: Moment,
    /// How long it cools at least, in seconds: the cooldown that its network asked for when it was freed. A later definition
    /// does not shorten it.
    pub seconds: u32,
}

impl CoolingAddress {
    /// Whether it has cooled down, if addresses cool for `cooldown` unless their network asked for longer.
    #[must_use]
    pub fn is_over(&self, now: Moment, cooldown: Duration) -> bool {
        now.since(self.since) >= cooldown.max(Duration::from_secs(self.seconds.into()))
    }
}

/// Cooling addresses, each with its place in the queue.
#[derive(Debug, Clone, Default)]
pub(super) struct CoolingQueue {
    by_place: SharedMap<u64, CoolingAddress>,
    places: SharedMap<IpAddr, u64>,
    /// Times of release, with the addresses' places, by the cooldown that their network asked for; usually all asked for the
    /// same.
    by_seconds: BTreeMap<u32, SharedSet<(u64, u64)>>,
    next: u64,
}

impl CoolingQueue {
    /// Appends an address; returns its place.
    pub(super) fn push(&mut self, cooling: CoolingAddress) -> u64 {
        let place = self.next;
        self.next += 1;
        self.by_place.insert(place, cooling);
        self.places.insert(cooling.address, place);
        self.by_seconds.entry(cooling.seconds).or_default().insert((cooling.since.boot_ns, place), ());
        place
    }

    /// Removes an address; returns its place, if it was there.
    pub(super) fn remove(&mut self, address: IpAddr) -> Option<u64> {
        let place = self.places.remove(&address)?;
        let removed = self.by_place.remove(&place)?;
        if let Some(freed) = self.by_seconds.get_mut(&removed.seconds) {
            freed.remove(&(removed.since.boot_ns, place));
            if freed.is_empty() {
                self.by_seconds.remove(&removed.seconds);
            }
        }
        Some(place)
    }

    /// An address that has cooled down.
    pub(super) fn cooled_down(&self, now: Moment, cooldown: Duration) -> Option<IpAddr> {
        let oldest =
            self.by_seconds.values().filter_map(|freed| self.by_place.get(&freed.first_key_value()?.0.1));
        oldest.filter(|cooling| cooling.is_over(now, cooldown)).map(|cooling| cooling.address).next()
    }

    pub(super) fn get(&self, address: IpAddr) -> Option<&CoolingAddress> {
        self.by_place.get(self.places.get(&address)?)
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &CoolingAddress> {
        self.by_place.values()
    }

    /// The cooling addresses from `first` to `last`, with their places.
    pub(super) fn between(&self, first: IpAddr, last: IpAddr) -> Vec<(u64, IpAddr)> {
        self.places.range(first..=last).map(|(address, place)| (*place, *address)).collect()
    }

    /// Restarts every cooldown.
    pub(super) fn restart(&mut self, now: Moment) {
        self.by_place.for_each_value(|cooling| cooling.since = now);
        self.by_seconds.clear();
        for (place, cooling) in self.by_place.iter() {
            self.by_seconds.entry(cooling.seconds).or_default().insert((now.boot_ns, *place), ());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn cooling(last: u8, since: u64, seconds: u32) -> CoolingAddress {
        CoolingAddress { address: ip(last), since: at(since), seconds }
    }

    fn at(seconds: u64) -> Moment {
        Moment { boot_ns: seconds * 1_000_000_000, wall_ms: 0 }
    }

    #[test]
    fn an_address_that_cools_for_long_keeps_no_other_waiting_and_waits_for_no_other() {
        let mut queue = CoolingQueue::default();
        for one in [cooling(1, 0, 300), cooling(2, 0, 0), cooling(3, 1, 0), cooling(4, 1, 300)] {
            queue.push(one);
        }
        let mut ended = |now| {
            let mut ended = Vec::new();
            while let Some(address) = queue.cooled_down(at(now), Duration::from_secs(30)) {
                queue.remove(address);
                ended.push(address);
            }
            ended
        };
        assert_eq!((ended(29), ended(30), ended(31), ended(299)), (vec![], vec![ip(2)], vec![ip(3)], vec![]));
        assert_eq!((ended(300), ended(301)), (vec![ip(1)], vec![ip(4)]));
        assert!(queue.by_seconds.is_empty());
    }

    #[test]
    fn addresses_are_found_by_place_and_by_range() {
        let mut queue = CoolingQueue::default();
        for (place, last) in (0..).zip([7, 3, 9]) {
            assert_eq!(queue.push(cooling(last, 0, 0)), place);
        }
        assert_eq!(queue.between(ip(3), ip(7)), [(1, ip(3)), (0, ip(7))]);
        assert_eq!((queue.remove(ip(7)), queue.remove(ip(7))), (Some(0), None));
        assert_eq!(queue.iter().next().map(|cooling| cooling.address), Some(ip(3)));
        assert_eq!(queue.between(ip(0), ip(8)), [(1, ip(3))]);
    }
}
