//! Address ranges, and the sets that a configuration groups them in.

use std::fmt;
use std::net::IpAddr;

use crate::{Attributes, Subnet};

/// A range of addresses inside one subnet, including both ends.
///
/// ```
/// use tenure_sdk_config::Range;
///
/// let range = Range::new("10.1.2.0/24".parse()?, "10.1.2.10".parse()?, "10.1.2.19".parse()?);
/// assert_eq!(range.to_string(), "10.1.2.10-10.1.2.19");
/// assert!(range.contains("10.1.2.19".parse()?) && !range.contains("10.1.2.20".parse()?));
/// assert_eq!(range.prefix_length, 24);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// Unique within its pool; if empty, the range's text is its name.
    pub name: String,
    /// The subnet. Its network, broadcast and gateway addresses are never assigned.
    pub subnet: Subnet,
    /// The first address.
    pub first: IpAddr,
    /// The last address.
    pub last: IpAddr,
    /// The gateway that is returned with each address of the range. It is never assigned itself.
    pub gateway: Option<IpAddr>,
    /// The prefix length that is returned with each address of the range; or that of the prefixes which it [assigns](Self::assigns_prefixes).
    pub prefix_length: u8,
    /// Labels to query the ledger by. An allocation records those of its ranges.
    pub attributes: Attributes,
}

/// The name of the attribute by which a range assigns whole prefixes, not single addresses.
pub const ASSIGNS: &str = "tenure.assigns";
/// The value of [`ASSIGNS`] for prefixes.
pub const PREFIXES: &str = "prefixes";

impl Range {
    /// The same range for prefixes of a length, such as a /28 for a router: they fill it from its first address to its last, and an
    /// agent's claim gets a whole one, named by its first address.
    ///
    /// ```
    /// use tenure_sdk_config::Range;
    ///
    /// let range = Range::new("10.5.0.0/16".parse()?, "10.5.1.0".parse()?, "10.5.1.255".parse()?);
    /// assert!(range.assigning_prefixes(28).assigns_prefixes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn assigning_prefixes(mut self, length: u8) -> Self {
        self.prefix_length = length;
        self.attributes.set(ASSIGNS, PREFIXES);
        self
    }

    /// Whether the range assigns whole prefixes of its prefix length.
    #[must_use]
    pub fn assigns_prefixes(&self) -> bool {
        self.attributes.get(ASSIGNS) == Some(PREFIXES)
    }

    /// A range with its subnet's prefix length, and without a name, a gateway or attributes.
    #[must_use]
    pub fn new(subnet: Subnet, first: IpAddr, last: IpAddr) -> Self {
        let prefix_length = subnet.prefix_length();
        let (name, attributes) = (String::new(), Attributes::new());
        Self { name, subnet, first, last, gateway: None, prefix_length, attributes }
    }

    /// Whether an address is in the range.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.first.is_ipv4() && self.first <= address && address <= self.last
    }

    /// Whether two ranges share an address.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.first.is_ipv4() == other.first.is_ipv4() && self.first <= other.last && other.first <= self.last
    }
}

/// As host-local prints it: `10.1.2.2-10.1.2.254`.
impl fmt::Display for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

/// Ranges that serve the same purpose, in the order in which they are used. tenure makes a pool of each set.
///
/// ```
/// use tenure_sdk_config::{Range, RangeSet};
///
/// let range = |subnet: &str, first: &str| Ok::<_, Box<dyn std::error::Error>>(Range::new(subnet.parse()?, first.parse()?, first.parse()?));
/// let set = RangeSet(vec![range("10.1.2.0/24", "10.1.2.7")?, range("10.2.2.0/24", "10.2.2.7")?]);
/// assert_eq!(set.to_string(), "10.1.2.7-10.1.2.7,10.2.2.7-10.2.2.7");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RangeSet(pub Vec<Range>);

impl RangeSet {
    /// The range that contains an address.
    ///
    /// ```
    /// # use tenure_sdk_config::{Texts, read};
    /// let ipam = r#"{"ranges": [[{"subnet": "10.1.2.0/24"}, {"subnet": "10.2.2.0/24"}]]}"#;
    /// let sets = read(Texts { ipam, runtime_ranges: None }, "ipam")?;
    /// let range = sets[0].range_of("10.2.2.9".parse()?);
    /// assert_eq!(range.and_then(|range| range.gateway), Some("10.2.2.1".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn range_of(&self, address: IpAddr) -> Option<&Range> {
        self.0.iter().find(|range| range.contains(address))
    }
}

/// As host-local prints it: the ranges, separated by commas.
impl fmt::Display for RangeSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str(",")?;
            }
            range.fmt(formatter)?;
        }
        Ok(())
    }
}
