//! Ranges of interfaces: one for each prefix and for each single address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use tenure_types::{Attributes, InvalidAttributes, InvalidName, Range, RangeError, RangeName};

use crate::names;

/// The gateway of every subnet's IPv6.
const GATEWAY_SIX: Ipv6Addr = Ipv6Addr::new(0xfe80, 0x0ec2, 0, 0, 0, 0, 0, 1);

/// Why an address or a prefix cannot be a range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRange {
    /// The range is not in the subnet.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// The value cannot be a name.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The interface's id cannot be a value.
    #[error(transparent)]
    Attributes(#[from] InvalidAttributes),
}

/// The range of an address (of full length) or a prefix of an interface. All addresses of a prefix are usable; the subnet
/// is the interface's, whose gateway and reserved addresses count.
///
/// # Errors
/// If it is not in the subnet.
pub fn range_of(net: IpNet, interface: &str, device: u32, subnet: IpNet) -> Result<Range, NoRange> {
    let net = net.trunc();
    let gateway = match subnet {
        IpNet::V4(subnet) => {
            // EC2's router has the subnet's second address.
            let second = u32::from(subnet.network()).checked_add(1).map(Ipv4Addr::from);
            second.map(IpAddr::from)
        }
        IpNet::V6(_) => Some(IpAddr::from(GATEWAY_SIX)),
    };
    let range = Range::new(subnet, net.network(), net.broadcast(), gateway, net.max_prefix_len())?;
    let device = device.to_string();
    let labels = Attributes::new([(names::INTERFACE, interface), (names::DEVICE, device.as_str())])?;
    Ok(range.named(RangeName::new(net.to_string())?).with(labels))
}

/// The address or prefix that a range stands for; `None` if it is not one of an interface.
#[must_use]
pub fn net_of(range: &Range) -> Option<IpNet> {
    let net: IpNet = range.name().as_str().parse().ok()?;
    let is_it = (net.network(), net.broadcast()) == (range.first(), range.last());
    is_it.then_some(net)
}

/// The interface of a range, and the address or prefix of it that the range stands for; `None` if it is not one of an
/// interface.
#[must_use]
pub fn carried(range: &Range) -> Option<(&str, IpNet)> {
    range.attributes().get(names::INTERFACE).zip(net_of(range))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::net;

    #[test]
    fn a_range_has_the_subnets_gateway_and_the_interfaces_labels() {
        let range = range_of(net("10.0.0.240/28"), "eni-1", 2, net("10.0.0.0/24")).unwrap();
        assert_eq!(
            (range.name().as_str(), range.size()),
            ("10.0.0.240/28", 15),
            "EC2 never assigns the broadcast address"
        );
        assert_eq!(range.gateway(), Some("10.0.0.1".parse().unwrap()));
        assert_eq!(range.attributes().to_string(), "device=2,interface=eni-1");
        assert_eq!(net_of(&range), Some(net("10.0.0.240/28")));
        assert_eq!(carried(&range), Some(("eni-1", net("10.0.0.240/28"))));
        let inner = range_of(net("10.0.0.16/28"), "eni-1", 2, net("10.0.0.0/24")).unwrap();
        assert_eq!(inner.size(), 16, "its first and last are usable");
        let one = range_of(net("10.0.0.9/32"), "eni-0", 0, net("10.0.0.0/24")).unwrap();
        assert_eq!((one.name().as_str(), one.size(), one.prefix_length()), ("10.0.0.9/32", 1, 32));
    }

    #[test]
    fn a_prefix_of_ipv6_has_the_link_local_gateway() {
        let range = range_of(net("2001:db8::1:0:0:0/80"), "eni-0", 0, net("2001:db8::/64")).unwrap();
        assert_eq!(range.gateway(), Some("fe80:ec2::1".parse().unwrap()));
        assert_eq!(net_of(&range), Some(net("2001:db8::1:0:0:0/80")));
    }

    #[test]
    fn what_is_elsewhere_is_no_range() {
        assert!(range_of(net("10.9.0.9/32"), "eni-0", 0, net("10.0.0.0/24")).is_err());
        let foreign = Range::new(
            net("10.0.0.0/24"),
            "10.0.0.9".parse().unwrap(),
            "10.0.0.9".parse().unwrap(),
            None,
            24,
        );
        assert_eq!(net_of(&foreign.unwrap()), None);
    }
}
