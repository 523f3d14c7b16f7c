//! A subnet in CIDR notation, with the arithmetic that policies need.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address and a prefix length. Host bits may be set; [`is_network`](Self::is_network) checks that.
///
/// ```
/// use tenure_sdk_config::Subnet;
///
/// let subnet: Subnet = "10.1.2.0/24".parse()?;
/// assert!(subnet.is_network());
/// assert_eq!(subnet.nth(1), Some("10.1.2.1".parse()?));
/// assert_eq!(subnet.broadcast().to_string(), "10.1.2.255");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subnet {
    address: IpAddr,
    prefix_length: u8,
}

impl Subnet {
    /// The address as written.
    #[must_use]
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// How many leading bits belong to the network.
    #[must_use]
    pub fn prefix_length(self) -> u8 {
        self.prefix_length
    }

    /// The number of bits of an address of this family.
    #[must_use]
    pub fn bits(self) -> u8 {
        if self.address.is_ipv4() { 32 } else { 128 }
    }

    /// The first address: all host bits 0.
    #[must_use]
    pub fn network(self) -> IpAddr {
        self.with(number(self.address) & !self.host_mask())
    }

    /// The last address: all host bits 1.
    #[must_use]
    pub fn broadcast(self) -> IpAddr {
        self.with(number(self.address) | self.host_mask())
    }

    /// The address at `offset` from the network address, if it is in the subnet.
    #[must_use]
    pub fn nth(self, offset: u128) -> Option<IpAddr> {
        (offset <= self.host_mask()).then(|| self.with(number(self.network()) | offset))
    }

    /// Whether no host bit is set.
    #[must_use]
    pub fn is_network(self) -> bool {
        self.network() == self.address
    }

    /// Whether an address is in the subnet.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && number(address) & !self.host_mask() == number(self.network())
    }

    fn host_mask(self) -> u128 {
        let host_bits = u32::from(self.bits() - self.prefix_length);
        if host_bits == 128 { u128::MAX } else { (1 << host_bits) - 1 }
    }

    /// An address of this family from a number.
    fn with(self, number: u128) -> IpAddr {
        match self.address {
            IpAddr::V4(_) => {
                u32::try_from(number).map_or(self.address, |number| Ipv4Addr::from(number).into())
            }
            IpAddr::V6(_) => Ipv6Addr::from(number).into(),
        }
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

impl FromStr for Subnet {
    type Err = InvalidSubnet;

    fn from_str(text: &str) -> Result<Self, InvalidSubnet> {
        let (address, prefix_length) = text.split_once('/').ok_or(InvalidSubnet)?;
        let address: IpAddr = address.parse().map_err(|_| InvalidSubnet)?;
        // `parse` would accept a sign.
        if !prefix_length.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidSubnet);
        }
        let prefix_length = prefix_length.parse().map_err(|_| InvalidSubnet)?;
        let subnet = Self { address, prefix_length };
        (prefix_length <= subnet.bits()).then_some(subnet).ok_or(InvalidSubnet)
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix_length)
    }
}

/// A string that is not a subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidSubnet;

impl fmt::Display for InvalidSubnet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("not an address and a prefix length")
    }
}

impl std::error::Error for InvalidSubnet {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_holds_at_both_ends_of_both_families() {
        for (text, network, broadcast) in [
            ("10.1.2.3/24", "10.1.2.0", "10.1.2.255"),
            ("0.0.0.0/0", "0.0.0.0", "255.255.255.255"),
            ("10.1.2.3/32", "10.1.2.3", "10.1.2.3"),
            ("2001:db8::1/64", "2001:db8::", "2001:db8::ffff:ffff:ffff:ffff"),
            ("::/0", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ] {
            let subnet: Subnet = text.parse().unwrap();
            assert_eq!(subnet.to_string(), text);
            assert_eq!(
                (subnet.network().to_string(), subnet.broadcast().to_string()),
                (network.into(), broadcast.into())
            );
            assert!(subnet.contains(subnet.network()) && subnet.contains(subnet.broadcast()), "{text}");
        }
        let subnet: Subnet = "10.1.2.0/30".parse().unwrap();
        assert_eq!(subnet.nth(3), Some("10.1.2.3".parse().unwrap()));
        assert_eq!(subnet.nth(4), None);
        assert!(!subnet.contains("10.1.2.4".parse().unwrap()) && !subnet.contains("::1".parse().unwrap()));
    }

    #[test]
    fn what_is_no_subnet_is_refused() {
        for text in [
            "",
            "10.1.2.0",
            "10.1.2.0/",
            "10.1.2.0/33",
            "::/129",
            "10.1.2/24",
            "10.1.2.0/+8",
            "x/8",
            "10.1.2.0/256",
        ] {
            assert_eq!(text.parse::<Subnet>(), Err(InvalidSubnet), "{text}");
        }
    }
}
