//! A set of addresses, stored as runs: finding the next address outside it costs the same in a /24 and in a /8.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Runs of addresses by first and last address. Runs never overlap or touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Runs(BTreeMap<IpAddr, IpAddr>);

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

    /// Removes an address, if it is in the set.
    pub(crate) fn remove(&mut self, address: IpAddr) {
        let Some((first, last)) = self.run_of(address) else { return };
        self.0.remove(&first);
        if let Some(before) = predecessor(address).filter(|before| first <= *before) {
            self.0.insert(first, before);
        }
        if let Some(behind) = successor(address).filter(|behind| *behind <= last) {
            self.0.insert(behind, last);
        }
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
        fn it_is_a_set(steps in prop::collection::vec((any::<bool>(), address()), 0..120), probe in address()) {
            let (mut runs, mut model) = (Runs::default(), BTreeSet::new());
            for (add, address) in steps {
                if add {
                    runs.insert(address);
                    model.insert(address);
                } else {
                    runs.remove(address);
                    model.remove(&address);
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
