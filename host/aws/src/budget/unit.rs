//! Resources of a subnet, each of which may run out.

use crate::port::Assign;

/// A resource that a subnet may run out of, each independently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Addresses of IPv4.
    Address,
    /// Prefixes of IPv4, which need an aligned block of free addresses.
    Prefix,
    /// Prefixes of IPv6.
    Ipv6Prefix,
}

impl Unit {
    /// Returns the resource that an assignment uses up; an interface's own address is one of IPv4.
    #[must_use]
    pub fn of(assign: &Assign) -> Self {
        match assign {
            Assign::Nothing | Assign::Addresses(_) => Self::Address,
            Assign::Prefixes(_) => Self::Prefix,
            Assign::Ipv6Prefixes(_) => Self::Ipv6Prefix,
        }
    }

    /// Names it for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Prefix => "prefix",
            Self::Ipv6Prefix => "ipv6-prefix",
        }
    }
}

/// The subnet of a call, and the resource that the call takes from it.
pub type Place<'a> = (&'a str, Unit);
