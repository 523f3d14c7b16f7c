//! The name of an IPBlock, which follows from its overlap group and CIDR: `GROUP.10-1-2-0.26`, `GROUP.fd00-1-0-0-0-0-0-0.122`.
//!
//! Two grants of one block therefore create the same name, and the API server refuses the second. IPv6 addresses are written in full, since a
//! label of a DNS name must not end with a hyphen, as `fd00-1--` does.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;

/// The longest name of an overlap group: one label of a DNS name.
pub const GROUP_LENGTH: usize = 63;

/// The name of an IPBlock.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockName {
    group: String,
    cidr: IpNet,
}

/// Why a name is not a block's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockNameError {
    /// The overlap group is not a label of a DNS name: 1 to 63 of `a-z`, `0-9` and `-`, with a letter or digit at both ends.
    #[error("{0:?} is not the name of an overlap group")]
    Group(String),
    /// The CIDR has bits set after its prefix, or is IPv4-mapped.
    #[error("{0} is not the CIDR of a block")]
    Cidr(IpNet),
    /// The name does not have the form of a block's name, or not the canonical one.
    #[error("{0:?} is not the name of a block")]
    Form(String),
}

impl BlockName {
    /// Names the block with this CIDR in an overlap group.
    ///
    /// # Errors
    /// If the group is not a DNS label, or the CIDR has host bits set or is IPv4-mapped IPv6.
    pub fn new(group: &str, cidr: IpNet) -> Result<Self, BlockNameError> {
        let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let ends = [group.as_bytes().first(), group.as_bytes().last()];
        if group.len() > GROUP_LENGTH
            || !ends.iter().all(|end| end.is_some_and(inner))
            || !group.bytes().all(|byte| inner(&byte) || byte == b'-')
        {
            return Err(BlockNameError::Group(group.to_owned()));
        }
        let mapped = matches!(cidr.network(), IpAddr::V6(network) if network.to_ipv4_mapped().is_some());
        if cidr.trunc() != cidr || mapped {
            return Err(BlockNameError::Cidr(cidr));
        }
        Ok(Self { group: group.to_owned(), cidr })
    }

    /// The overlap group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The block's addresses.
    #[must_use]
    pub fn cidr(&self) -> IpNet {
        self.cidr
    }
}

impl fmt::Display for BlockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = match self.cidr.network() {
            IpAddr::V4(address) => address.octets().map(|octet| octet.to_string()).join("-"),
            IpAddr::V6(address) => address.segments().map(|segment| format!("{segment:x}")).join("-"),
        };
        write!(f, "{}.{address}.{}", self.group, self.cidr.prefix_len())
    }
}

impl FromStr for BlockName {
    type Err = BlockNameError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let wrong = || BlockNameError::Form(name.to_owned());
        let mut parts = name.rsplitn(3, '.');
        let (Some(prefix), Some(address), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(wrong());
        };
        let prefix = prefix.parse::<u8>().map_err(|_| wrong())?;
        let address = read_address(address).ok_or_else(wrong)?;
        let cidr = IpNet::new(address, prefix).map_err(|_| wrong())?;
        let read = Self::new(group, cidr)?;
        // One block has one name: no leading zeros, no capitals.
        if read.to_string() == name { Ok(read) } else { Err(wrong()) }
    }
}

/// Reads four decimal or eight hexadecimal numbers with hyphens between them.
fn read_address(text: &str) -> Option<IpAddr> {
    let parts: Vec<&str> = text.split('-').collect();
    if parts.len() == 4 {
        let octets: Vec<u8> = parts.iter().map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let octets: [u8; 4] = octets.try_into().ok()?;
        return Some(Ipv4Addr::from(octets).into());
    }
    let segments: Vec<u16> =
        parts.iter().map(|part| u16::from_str_radix(part, 16).ok()).collect::<Option<_>>()?;
    let segments: [u16; 8] = segments.try_into().ok()?;
    Some(Ipv6Addr::from(segments).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_are_read_as_they_are_written() {
        for (group, cidr, name) in [
            ("default", "10.1.2.0/26", "default.10-1-2-0.26"),
            ("a-1", "0.0.0.0/0", "a-1.0-0-0-0.0"),
            ("default", "10.1.2.3/32", "default.10-1-2-3.32"),
            ("default", "fd00:1::/122", "default.fd00-1-0-0-0-0-0-0.122"),
            ("default", "2001:db8:0:a::ffc0/122", "default.2001-db8-0-a-0-0-0-ffc0.122"),
        ] {
            let made = BlockName::new(group, cidr.parse().unwrap()).unwrap();
            assert_eq!(made.to_string(), name);
            assert_eq!(name.parse::<BlockName>().unwrap(), made);
            assert_eq!((made.group(), made.cidr()), (group, cidr.parse().unwrap()));
            assert!(name.len() <= 253 && name.split('.').all(|label| !label.ends_with('-')));
        }
    }

    #[test]
    fn one_block_has_one_name() {
        for wrong in [
            "",
            "default",
            "default.10-1-2-0",
            "default.10-1-2-0.33",
            "default.10-1-2-0.026",
            "default.010-1-2-0.26",
            "default.10-1-2-1.26",
            "default.10-1-2.26",
            "default.10.1.2.0.26",
            "Default.10-1-2-0.26",
            "-a.10-1-2-0.26",
            ".10-1-2-0.26",
            "default.fd00-1--.122",
            "default.FD00-1-0-0-0-0-0-0.122",
            "default.fd00-01-0-0-0-0-0-0.122",
            "default.0-0-0-0-0-ffff-a01-200.122",
            "default.+1-1-2-0.26",
        ] {
            assert!(wrong.parse::<BlockName>().is_err(), "{wrong}");
        }
        assert!(BlockName::new(&"a".repeat(64), "10.0.0.0/8".parse().unwrap()).is_err());
    }
}
