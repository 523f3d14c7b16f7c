//! Ranges that hand out prefixes, such as a /28 for a router or a /64 for a virtual machine.
//!
//! Such a range has the attribute [`tenure.assigns`](crate::agreed::ASSIGNS) and is a grid: prefixes of its `prefix_length` fill it from
//! its first address to its last. One assignment is a whole prefix, and its first address stands for it wherever an address is asked
//! for: in a proposal, a request, a cooldown. No other address of the range can be assigned. None is reserved: a prefix is routed to its
//! owner, so that it has neither a network nor a broadcast address of the range's subnet.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Range, RangeError};

impl Range {
    /// Whether each assignment is a whole prefix of the range's prefix length.
    #[must_use]
    pub fn assigns_prefixes(&self) -> bool {
        self.assigns_prefixes
    }

    /// The first and the last address of the assignment that an address of the range belongs to.
    #[must_use]
    pub fn span(&self, address: IpAddr) -> (IpAddr, IpAddr) {
        match IpNet::new(address, self.prefix_length) {
            Ok(prefix) if self.assigns_prefixes => span(prefix),
            _ => (address, address),
        }
    }

    /// Checks that prefixes fill a range that assigns them.
    ///
    /// # Errors
    /// [`RangeError`] with the first rule that is broken.
    pub fn check_prefixes(&self) -> Result<(), RangeError> {
        if !self.assigns_prefixes {
            return Ok(());
        }
        let length = self.prefix_length;
        if length < self.subnet.prefix_len() || length >= self.subnet.max_prefix_len() {
            return Err(RangeError::Prefixes(length, self.subnet));
        }
        if self.span(self.first).0 != self.first || self.span(self.last).1 != self.last {
            return Err(RangeError::Grid(self.first, self.last, length));
        }
        match self.gateway.filter(|gateway| self.contains(*gateway)) {
            Some(gateway) => Err(RangeError::GatewayAssigned(gateway)),
            None => Ok(()),
        }
    }
}

/// The first and the last address of a prefix.
#[must_use]
pub(crate) fn span(prefix: IpNet) -> (IpAddr, IpAddr) {
    (prefix.network(), prefix.broadcast())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attributes, agreed};

    fn grid(subnet: &str, first: &str, last: &str, length: u8, gateway: Option<&str>) -> Range {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let range =
            Range::new(subnet.parse().unwrap(), address(first), address(last), gateway.map(address), length);
        range.unwrap().with(Attributes::new([(agreed::ASSIGNS, agreed::PREFIXES)]).unwrap())
    }

    #[test]
    fn a_prefix_is_assigned_by_its_first_address() {
        let range = grid("10.5.0.0/16", "10.5.1.0", "10.5.1.255", 28, Some("10.5.0.1"));
        assert_eq!(range.check_prefixes(), Ok(()));
        assert_eq!((range.size(), range.reserved([10, 5, 1, 0].into())), (16, None));
        assert_eq!(range.reserved([10, 5, 1, 17].into()), Some("not the first address of a prefix"));
        assert_eq!(range.span([10, 5, 1, 17].into()), ([10, 5, 1, 16].into(), [10, 5, 1, 31].into()));
        let wide = grid("fd00::/48", "fd00::", "fd00:0:0:ffff:ffff:ffff:ffff:ffff", 64, None);
        assert_eq!((wide.check_prefixes(), wide.count()), (Ok(()), 65_536));
    }

    #[test]
    fn prefixes_that_do_not_fill_the_range_are_refused() {
        let check = |first: &str, last: &str, length, gateway| {
            grid("10.5.0.0/16", first, last, length, gateway).check_prefixes()
        };
        assert!(matches!(check("10.5.1.1", "10.5.1.255", 28, None), Err(RangeError::Grid(..))));
        assert!(matches!(check("10.5.1.0", "10.5.1.254", 28, None), Err(RangeError::Grid(..))));
        assert!(matches!(check("10.5.1.0", "10.5.1.255", 15, None), Err(RangeError::Prefixes(15, _))));
        assert!(matches!(check("10.5.1.0", "10.5.1.255", 32, None), Err(RangeError::Prefixes(32, _))));
        let gateway = check("10.5.1.0", "10.5.1.255", 28, Some("10.5.1.9"));
        assert!(matches!(gateway, Err(RangeError::GatewayAssigned(_))));
    }
}
