//! Ranges: runs of addresses inside one subnet, and the properties of addresses handed out from them.
//!
//! A range hands out single addresses, or [prefixes](prefixes): whole blocks of equal length, each named by its first address.

mod prefixes;

use std::net::IpAddr;

use ipnet::IpNet;

pub(crate) use self::prefixes::span;
use crate::{Attributes, RangeName, agreed};

/// A run of addresses inside one subnet, and the properties of addresses handed out from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    name: RangeName,
    subnet: IpNet,
    first: IpAddr,
    last: IpAddr,
    gateway: Option<IpAddr>,
    prefix_length: u8,
    attributes: Attributes,
    /// Whether the attributes say so; asked for with each address.
    assigns_prefixes: bool,
}

/// Why a range is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// The subnet has bits set after its prefix.
    #[error("{0} has host bits set")]
    HostBits(IpNet),
    /// An end of the range is outside its subnet.
    #[error("{0} is not in {1}")]
    Outside(IpAddr, IpNet),
    /// The first address is after the last.
    #[error("{0} is after {1}")]
    Reversed(IpAddr, IpAddr),
    /// The gateway is of the other address family.
    #[error("gateway {0} and subnet {1} are of different address families")]
    GatewayFamily(IpAddr, IpNet),
    /// The prefix length is longer than the family allows.
    #[error("prefix length {0} is too long for {1}")]
    PrefixLength(u8, IpNet),
    /// The subnet is IPv4-mapped IPv6, so the same address could be written in two ways.
    #[error("{0} is IPv4-mapped; write it as IPv4")]
    Mapped(IpNet),
    /// The prefix length is 0, so every address would count as on-link.
    #[error("prefix length 0 is not allowed for {0}: every address would be on-link")]
    Everywhere(IpNet),
    /// No interface can use some of the addresses.
    #[error("{0} to {1} contains {2} addresses, which cannot be assigned to an interface")]
    Special(IpAddr, IpAddr, &'static str),
    /// The range assigns prefixes, but prefixes of this length do not fill it.
    #[error("{0} to {1} is not a whole number of prefixes of length {2}")]
    Grid(IpAddr, IpAddr, u8),
    /// Prefixes of this length are larger than the subnet, or single addresses.
    #[error("{1} has no prefixes of length {0}")]
    Prefixes(u8, IpNet),
    /// The gateway is inside one of the prefixes that the range assigns.
    #[error("gateway {0} is inside a prefix that can be assigned")]
    GatewayAssigned(IpAddr),
}

/// Addresses that cannot be assigned to an interface, from RFC 6890's registry.
const SPECIAL: [(&str, &str); 7] = [
    ("0.0.0.0/8", "unspecified"),
    ("127.0.0.0/8", "loopback"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("ff00::/8", "multicast"),
];

impl Range {
    /// Checks and makes a range. Both ends are included.
    ///
    /// # Errors
    /// [`RangeError`] with the first rule that is broken.
    pub fn new(
        subnet: IpNet,
        first: IpAddr,
        last: IpAddr,
        gateway: Option<IpAddr>,
        prefix_length: u8,
    ) -> Result<Self, RangeError> {
        if subnet.trunc() != subnet {
            return Err(RangeError::HostBits(subnet));
        }
        if matches!(subnet, IpNet::V6(net) if net.network().to_ipv4_mapped().is_some()) {
            return Err(RangeError::Mapped(subnet));
        }
        for end in [first, last] {
            if !subnet.contains(&end) {
                return Err(RangeError::Outside(end, subnet));
            }
        }
        if first > last {
            return Err(RangeError::Reversed(first, last));
        }
        if let Some(gateway) = gateway.filter(|gateway| gateway.is_ipv4() != first.is_ipv4()) {
            return Err(RangeError::GatewayFamily(gateway, subnet));
        }
        if prefix_length > subnet.max_prefix_len() {
            return Err(RangeError::PrefixLength(prefix_length, subnet));
        }
        if prefix_length == 0 {
            return Err(RangeError::Everywhere(subnet));
        }
        if let Some(kind) = special(first, last) {
            return Err(RangeError::Special(first, last, kind));
        }
        let name = default_name(first, last);
        let (attributes, assigns_prefixes) = (Attributes::default(), false);
        Ok(Self { name, subnet, first, last, gateway, prefix_length, attributes, assigns_prefixes })
    }

    /// The same range with the supplier's name for it.
    #[must_use]
    pub fn named(self, name: RangeName) -> Self {
        Self { name, ..self }
    }

    /// The same range with attributes.
    #[must_use]
    pub fn with(self, attributes: Attributes) -> Self {
        let assigns_prefixes = attributes.get(agreed::ASSIGNS) == Some(agreed::PREFIXES);
        Self { attributes, assigns_prefixes, ..self }
    }

    /// The name, which identifies it within its pool; `first-last` unless the supplier names it.
    #[must_use]
    pub fn name(&self) -> &RangeName {
        &self.name
    }

    /// Whether it has its default name.
    #[must_use]
    pub fn has_default_name(&self) -> bool {
        self.name == default_name(self.first, self.last)
    }

    /// The supplier's attributes; each address handed out from the range carries them.
    #[must_use]
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// The cooldown that the range's attributes ask for, in seconds; 0 if they ask for none.
    #[must_use]
    pub fn cooldown_seconds(&self) -> u32 {
        self.attributes.get(agreed::COOLDOWN_SECONDS).and_then(|seconds| seconds.parse().ok()).unwrap_or(0)
    }

    /// Whether an address is free as soon as it is let go, because it follows its owner and has no other: the supplier asks for the cooldown
    /// [`NO_COOLDOWN`](agreed::NO_COOLDOWN).
    #[must_use]
    pub fn never_cools(&self) -> bool {
        self.attributes.get(agreed::COOLDOWN_SECONDS) == Some(agreed::NO_COOLDOWN)
    }

    /// The subnet that contains the range.
    #[must_use]
    pub fn subnet(&self) -> IpNet {
        self.subnet
    }

    /// The first address of the range.
    #[must_use]
    pub fn first(&self) -> IpAddr {
        self.first
    }

    /// The last address of the range.
    #[must_use]
    pub fn last(&self) -> IpAddr {
        self.last
    }

    /// The gateway that is handed out with each address, and never itself assigned.
    #[must_use]
    pub fn gateway(&self) -> Option<IpAddr> {
        self.gateway
    }

    /// The prefix length that is handed out with each address.
    #[must_use]
    pub fn prefix_length(&self) -> u8 {
        self.prefix_length
    }

    /// Whether the range contains an address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.first <= address && address <= self.last
    }

    /// Why an address of this range can never be assigned: it is the network address, the broadcast address or the
    /// gateway.
    ///
    /// A /31 or /32 subnet, or /127 or /128 in IPv6, has neither a network nor a broadcast address (RFC 3021, RFC
    /// 6164). A prefix is assigned by its first address, and routed as a whole.
    #[must_use]
    pub fn reserved(&self, address: IpAddr) -> Option<&'static str> {
        if self.assigns_prefixes {
            return (self.span(address).0 != address).then_some("not the first address of a prefix");
        }
        if self.gateway == Some(address) {
            return Some("the gateway");
        }
        let has_ends = self.subnet.prefix_len() + 1 < self.subnet.max_prefix_len();
        match address {
            _ if !has_ends => None,
            _ if address == self.subnet.network() => Some("the network address"),
            IpAddr::V4(_) if address == self.subnet.broadcast() => Some("the broadcast address"),
            _ => None,
        }
    }

    /// The number of assignable addresses, or prefixes, capped at `u32::MAX`, which is enough for a policy.
    #[must_use]
    pub fn size(&self) -> u32 {
        u32::try_from(self.count()).unwrap_or(u32::MAX)
    }

    /// The number of assignable addresses, or prefixes, capped at `u128::MAX`.
    #[must_use]
    pub fn count(&self) -> u128 {
        let span = match (self.first, self.last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => u128::from(u32::from(last) - u32::from(first)),
            (IpAddr::V6(first), IpAddr::V6(last)) => u128::from(last) - u128::from(first),
            // `new` refuses mixed families.
            _ => 0,
        };
        if self.assigns_prefixes {
            let bits = self.subnet.max_prefix_len().saturating_sub(self.prefix_length);
            return span.checked_shr(bits.into()).unwrap_or(0) + 1;
        }
        let mut special = vec![self.subnet.network(), self.subnet.broadcast()];
        special.extend(self.gateway);
        special.sort_unstable();
        special.dedup();
        let reserved =
            special.into_iter().filter(|ip| self.contains(*ip) && self.reserved(*ip).is_some()).count();
        span.saturating_add(1).saturating_sub(reserved as u128)
    }

    /// Whether two ranges share an address.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

fn default_name(first: IpAddr, last: IpAddr) -> RangeName {
    RangeName::plain(&format!("{first}-{last}"))
}

/// The kind of unassignable addresses that a run contains, if any.
fn special(first: IpAddr, last: IpAddr) -> Option<&'static str> {
    SPECIAL.iter().find_map(|(subnet, kind)| {
        let subnet: IpNet = subnet.parse().ok()?;
        let touches = subnet.addr().is_ipv4() == first.is_ipv4()
            && first <= subnet.broadcast()
            && subnet.network() <= last;
        touches.then_some(*kind)
    })
}

impl std::fmt::Display for Range {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

#[cfg(test)]
mod tests;
