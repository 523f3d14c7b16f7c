//! An address of a link.

use std::fmt;
use std::net::IpAddr;

/// An address with the prefix length of its subnet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceAddress {
    /// The link.
    pub device: String,
    /// The address.
    pub address: IpAddr,
    /// The prefix length of its subnet.
    pub length: u8,
}

impl fmt::Display for InterfaceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "address {}/{} dev {}", self.address, self.length, self.device)
    }
}
