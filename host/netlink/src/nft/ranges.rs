//! Sets of IPv4 addresses, in the one form that equal sets share.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

/// Ranges of addresses, both ends included: sorted, and merged where they touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(Ipv4Addr, Ipv4Addr)>);

impl Ranges {
    /// The set of all addresses in these ranges.
    #[must_use]
    pub fn new(ranges: impl IntoIterator<Item = (Ipv4Addr, Ipv4Addr)>) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().collect();
        ranges.sort_unstable();
        let mut merged: Vec<(Ipv4Addr, Ipv4Addr)> = Vec::new();
        for (first, last) in ranges {
            match merged.last_mut() {
                // The widening cannot overflow, and makes 255.255.255.255 no special case.
                Some((_, end)) if u64::from(u32::from(first)) <= u64::from(u32::from(*end)) + 1 => {
                    *end = last.max(*end);
                }
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }

    /// The addresses of these networks.
    #[must_use]
    pub fn of(nets: impl IntoIterator<Item = Ipv4Net>) -> Self {
        Self::new(nets.into_iter().map(|net| (net.network(), net.broadcast())))
    }

    /// The ranges.
    pub fn iter(&self) -> impl Iterator<Item = (Ipv4Addr, Ipv4Addr)> + '_ {
        self.0.iter().copied()
    }

    /// Whether there is no address in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_are_equal_however_they_are_written() {
        let nets = |list: &[&str]| Ranges::of(list.iter().map(|net| net.parse().unwrap()));
        assert_eq!(nets(&["10.0.0.0/25", "10.0.0.128/25"]), nets(&["10.0.0.0/24"]));
        assert_eq!(nets(&["10.0.1.0/24", "10.0.0.0/16"]), nets(&["10.0.0.0/16"]));
        assert_eq!(nets(&["255.255.255.255/32", "0.0.0.0/0"]), nets(&["0.0.0.0/0"]));
        assert_ne!(nets(&["10.0.0.0/24", "10.0.2.0/24"]), nets(&["10.0.0.0/22"]));
        assert!(nets(&[]).is_empty());
    }
}
