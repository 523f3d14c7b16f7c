//! A set of addresses, stored as runs: finding the next address outside it costs the same in a /24 and in a /8.

use std::net::IpAddr;

use super::shared_map::SharedMap;

/// Runs of addresses by first and last address. Runs never overlap or touch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Runs(SharedMap<IpAddr, IpAddr>);

/// The address after this one, within its family.
pub(crate) fn successor(address: IpAddr) -> Option<IpAddr> {
    Some(match address {
        IpAddr::V4(address) => IpAddr::from(u32::from(address).checked_add(1)?.to_be_bytes()),
        IpAddr::V6(address) => IpAddr::from(u128::from(address).checked_add(1)?.to_be_bytes()),
    })
}

/// The address before this one, within its family.
pub(crate) fn predecessor(address: IpAddr) -> Option<IpAddr> {
    Some(match address {
        IpAddr::V4(address) => IpAddr::from(u32::from(address).checked_sub(1)?.to_be_bytes()),
        IpAddr::V6(address) => IpAddr::from(u128::from(address).checked_sub(1)?.to_be_bytes()),
    })
}

impl Runs {
    /// The run that contains an address.
    fn run_of(&self, address: IpAddr) -> Option<(IpAddr, IpAddr)> {
        let (&first, &last) = self.0.range(..=address).next_back()?;
        (address <= last).then_some((first, last))
    }

    /// Adds an address, if it is not in the set.
    pub(crate) fn insert(&mut self, address: IpAddr) {
        if self.run_of(address).is_some() {
            return;
        }
        let first = match predecessor(address).and_then(|before| self.run_of(before)) {
            Some((first, _)) => first,
            None => address,
        };
        let last = match successor(address).and_then(|behind| self.0.remove(&behind)) {
            Some(last) => last,
            None => address,
        };
        self.0.insert(first, last);
    }

    /// Adds all addresses from `first` to `last`.
    pub(crate) fn insert_all(&mut self, first: IpAddr, last: IpAddr) {
        self.remove_all(first, last);
        self.insert(first);
        // The run that ends at `first` now grows to `last`, where the next one may begin.
        let Some((begin, end)) = self.run_of(first) else { return };
        let last = successor(last).and_then(|behind| self.0.remove(&behind)).unwrap_or(last);
        self.0.insert(begin, last.max(end));
    }

    /// Removes an address, if it is in the set.
    pub(crate) fn remove(&mut self, address: IpAddr) {
        self.remove_all(address, address);
    }

    /// Removes all addresses from `first` to `last`.
    pub(crate) fn remove_all(&mut self, first: IpAddr, last: IpAddr) {
        while let Some((begin, end)) = self.first_within(first, last) {
            self.0.remove(&begin);
            if let Some(before) = predecessor(first).filter(|before| begin <= *before) {
                self.0.insert(begin, before);
            }
            if let Some(behind) = successor(last).filter(|behind| *behind <= end) {
                self.0.insert(behind, end);
            }
            if end >= last {
                return;
            }
        }
    }

    /// The first run that has an address from `first` to `last`.
    fn first_within(&self, first: IpAddr, last: IpAddr) -> Option<(IpAddr, IpAddr)> {
        let behind = || self.0.range(first..=last).next().map(|(begin, end)| (*begin, *end));
        self.run_of(first).or_else(behind)
    }

    /// Whether no address from `first` to `last` is in the set.
    pub(crate) fn has_none(&self, first: IpAddr, last: IpAddr) -> bool {
        self.first_within(first, last).is_none()
    }

    /// The first address at or after `from` that is not in the set.
    pub(crate) fn next_outside(&self, from: IpAddr) -> Option<IpAddr> {
        match self.run_of(from) {
            // Runs never touch, so the address after one is outside the set.
            Some((_, last)) => successor(last),
            None => Some(from),
        }
    }

    /// The last address at or before `from` that is not in the set.
    pub(crate) fn previous_outside(&self, from: IpAddr) -> Option<IpAddr> {
        match self.run_of(from) {
            Some((first, _)) => predecessor(first),
            None => Some(from),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Addresses near both ends of a family and across byte boundaries.
    fn address() -> impl Strategy<Value = IpAddr> {
        prop_oneof![
            (0u32..12).prop_map(|n| IpAddr::from(n.to_be_bytes())),
            (0u32..12).prop_map(|n| IpAddr::from((u32::MAX - n).to_be_bytes())),
            (250u128..262).prop_map(|n| IpAddr::from(n.to_be_bytes())),
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_set(steps in prop::collection::vec((0u8..4, address(), 0usize..6), 0..120), probe in address()) {
            let (mut runs, mut model) = (Runs::default(), BTreeSet::new());
            for (kind, address, length) in steps {
                let length = if kind < 2 { 0 } else { length };
                let all: Vec<IpAddr> =
                    std::iter::successors(Some(address), |ip| successor(*ip)).take(length + 1).collect();
                let last = *all.last().unwrap();
                prop_assert_eq!(runs.has_none(address, last), all.iter().all(|ip| !model.contains(ip)));
                match kind {
                    0 => runs.insert(address),
                    1 => runs.remove(address),
                    2 => runs.insert_all(address, last),
                    _ => runs.remove_all(address, last),
                }
                if kind % 2 == 0 {
                    model.extend(all);
                } else {
                    all.iter().for_each(|ip| _ = model.remove(ip));
                }
                let touching = runs.0.iter().any(|(_, last)| {
                    successor(*last).is_some_and(|next| runs.0.contains_key(&next))
                });
                prop_assert!(!touching);
            }
            let next = std::iter::successors(Some(probe), |ip| successor(*ip)).find(|ip| !model.contains(ip));
            prop_assert_eq!(runs.next_outside(probe), next);
            let previous = std::iter::successors(Some(probe), |ip| predecessor(*ip)).find(|ip| !model.contains(ip));
            prop_assert_eq!(runs.previous_outside(probe), previous);
        }
    }
}
