//! The configuration keys `ranges`, `subnet`, `rangeStart`, `rangeEnd` and `gateway`, read as the reference
//! host-local reads them.
//!
//! Defaults, order and error messages are host-local's, because people grep for them; the key's path is added. A
//! range may also have a `rangeName`, `rangeAttributes` and a `delegatedPrefixLength`, which host-local ignores.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::{Attributes, ConfigError, Json, Node, Range, RangeSet, Subnet, is_reserved, prefixes};

/// The host attribute that holds `runtimeConfig.ipRanges`.
pub const RUNTIME_RANGES: &str = "runtime-config.ip-ranges";

/// The path of the whole configuration.
const WHOLE: &str = "ipam";

/// The strings that ranges are read from.
#[derive(Debug, Clone, Copy)]
pub struct Texts<'a> {
    /// The `ipam` object of the CNI configuration, as JSON text.
    pub ipam: &'a str,
    /// The JSON text of `runtimeConfig.ipRanges`, if the runtime passed it.
    pub runtime_ranges: Option<&'a str>,
}

/// Reads the range sets at a path of the configuration.
///
/// The path `ipam` is the whole configuration: first `runtimeConfig.ipRanges`, then the single range of old
/// configurations, then
/// `ranges`. Any other path must lead to an object with these keys, or to a list of range sets.
///
/// ```
/// use tenure_sdk_config::{Texts, read};
///
/// let ipam = r#"{"subnet": "10.1.2.0/24", "zones": {"blue": {"subnet": "10.9.0.0/16", "rangeStart": "10.9.1.0"}}}"#;
/// let texts = Texts { ipam, runtime_ranges: None };
/// assert_eq!(read(texts, "ipam")?[0].to_string(), "10.1.2.1-10.1.2.254");
/// assert_eq!(read(texts, "ipam.zones.blue")?[0].to_string(), "10.9.1.0-10.9.255.254");
/// assert_eq!(read(texts, "ipam.zones.red").unwrap_err().path, "ipam.zones.red");
/// # Ok::<(), tenure_sdk_config::ConfigError>(())
/// ```
///
/// # Errors
/// [`ConfigError`] with the path of the key that is wrong.
pub fn read(texts: Texts<'_>, path: &str) -> Result<Vec<RangeSet>, ConfigError> {
    let ipam = Node::parse(WHOLE, texts.ipam)?;
    let members = if path == WHOLE {
        let runtime = texts.runtime_ranges.map(|text| Node::parse("runtimeConfig.ipRanges", text)?.items());
        members(&ipam, runtime.transpose()?.unwrap_or_default())?
    } else {
        // A policy's path begins at the root, for every kind of policy.
        if !path.strip_prefix(WHOLE).is_some_and(|rest| rest.starts_with(['.', '['])) {
            return Err(ConfigError::new(path, format!("not a path such as {WHOLE}.ranges[0]")));
        }
        let node = ipam.find(path)?.ok_or_else(|| ConfigError::new(path, NO_RANGES))?;
        match node.value() {
            Json::List(_) => node.items()?.iter().map(member).collect::<Result<_, _>>()?,
            _ => members(&node, Vec::new())?,
        }
    };
    if members.is_empty() {
        let path = if path == WHOLE { "ipam.ranges" } else { path };
        return Err(ConfigError::new(path, NO_RANGES));
    }
    let sets = members
        .iter()
        .enumerate()
        .map(|(index, (path, ranges))| set(index, path, ranges))
        .collect::<Result<Vec<_>, _>>()?;
    refuse_overlapping(&sets, &members)?;
    Ok(sets)
}

const NO_RANGES: &str = "no IP ranges specified";

/// A range set that has not been read yet: its path and its ranges.
type Member = (String, Vec<Node>);

fn member(set: &Node) -> Result<Member, ConfigError> {
    Ok((set.path().to_owned(), set.items()?))
}

/// The range sets of an object: `first`, then its own single range, then its `ranges`.
fn members(object: &Node, first: Vec<Node>) -> Result<Vec<Member>, ConfigError> {
    let before_single = first.len();
    let mut sets = first;
    if let Some(ranges) = object.get("ranges")? {
        sets.extend(ranges.items()?);
    }
    let mut members = sets.iter().map(member).collect::<Result<Vec<_>, _>>()?;
    if object.get("subnet")?.is_some() {
        members.insert(before_single, (object.path().to_owned(), vec![object.clone()]));
    }
    Ok(members)
}

/// Reads one range set.
fn set(index: usize, path: &str, nodes: &[Node]) -> Result<RangeSet, ConfigError> {
    let invalid =
        |path: &str, message: &str| ConfigError::new(path, format!("invalid range set {index}: {message}"));
    let mut ranges: Vec<Range> = Vec::with_capacity(nodes.len());
    let mut taken = ReservedRanges::default();
    for node in nodes {
        let range = range(node).map_err(|error| invalid(&error.path, &error.message))?;
        if ranges.first().is_some_and(|first| first.first.is_ipv4() != range.first.is_ipv4()) {
            return Err(invalid(node.path(), "mixed address families"));
        }
        if ranges.first().is_some_and(|first| first.assigns_prefixes() != range.assigns_prefixes()) {
            return Err(invalid(node.path(), "some ranges assign prefixes, others single addresses"));
        }
        if taken.overlaps(&range) {
            let other = ranges.iter().find(|other| other.overlaps(&range));
            let other = other.map(ToString::to_string).unwrap_or_default();
            return Err(invalid(node.path(), &format!("subnets {other} and {range} overlap")));
        }
        taken.add(&range);
        ranges.push(range);
    }
    if ranges.is_empty() {
        return Err(invalid(path, "empty range set"));
    }
    Ok(RangeSet(ranges))
}

/// Ranges that do not overlap, sorted by their first address, so that comparing a thousand of them is fast.
#[derive(Default)]
struct ReservedRanges(BTreeMap<IpAddr, IpAddr>);

impl ReservedRanges {
    /// Whether a range overlaps one of these. Families do not mix: all IPv4 addresses sort before all IPv6 addresses.
    fn overlaps(&self, range: &Range) -> bool {
        self.0.range(..=range.last).next_back().is_some_and(|(_, last)| *last >= range.first)
    }

    fn add(&mut self, range: &Range) {
        self.0.insert(range.first, range.last);
    }
}

/// Reads one range. By default the gateway is the subnet's first address, and the ends are its first and last usable
/// addresses; a range that assigns prefixes is the whole subnet.
fn range(node: &Node) -> Result<Range, ConfigError> {
    let Some(key) = node.get("subnet")? else { return Err(node.wrong("missing subnet")) };
    let subnet = key.subnet()?;
    let delegated = prefixes::delegated_length(node, subnet)?;
    if delegated.is_none() && subnet.prefix_length() > subnet.bits() - 2 {
        return Err(key.wrong(format!("Network {subnet} too small to allocate from")));
    }
    if !subnet.is_network() {
        return Err(key.wrong(format!(
            "Network has host bits set. For a subnet mask of length {} the network address is {}",
            subnet.prefix_length(),
            subnet.network()
        )));
    }
    if subnet.network() != subnet.network().to_canonical() {
        return Err(key.wrong("IPNet IP and Mask version mismatch"));
    }
    let gateway = address(node, "gateway")?;
    if let Some((key, gateway)) =
        gateway.as_ref().filter(|(_, gateway)| gateway.is_ipv4() != subnet.network().is_ipv4())
    {
        return Err(
            key.wrong(format!("gateway {gateway} and network {subnet} are of different address families"))
        );
    }
    let start = address(node, "rangeStart")?;
    if let Some((key, start)) = start.as_ref().filter(|(_, start)| !subnet.contains(*start)) {
        return Err(key.wrong(format!("RangeStart {start} not in network {subnet}")));
    }
    let first_usable = subnet.nth(delegated.is_none().into()).unwrap_or(subnet.network());
    let first = start.as_ref().map_or(first_usable, |(_, start)| *start);
    let end = address(node, "rangeEnd")?;
    if let Some((key, end)) = end.as_ref().filter(|(_, end)| !subnet.contains(*end) || *end < first) {
        return Err(key.wrong(format!("RangeEnd {end} not in network {subnet}")));
    }
    let last_usable = if delegated.is_some() { subnet.broadcast() } else { last_usable(subnet) };
    let last = end.map_or(last_usable, |(_, end)| end);
    if let Some((key, start)) = start.filter(|(_, start)| *start > last) {
        return Err(key.wrong(format!("RangeStart {start} leaves no address in network {subnet}")));
    }
    let usual_gateway = subnet.nth(1).filter(|_| delegated.is_none());
    let gateway = gateway.map(|(_, gateway)| gateway).or(usual_gateway);
    let name = node.get("rangeName")?.map(|name| name.text().map(str::to_owned)).transpose()?;
    let attributes = node.get("rangeAttributes")?.map(|node| attributes(&node)).transpose()?;
    let (name, attributes) = (name.unwrap_or_default(), attributes.unwrap_or_default());
    let range = Range { name, gateway, attributes, ..Range::new(subnet, first, last) };
    let range = delegated.map_or(range.clone(), |length| range.assigning_prefixes(length));
    prefixes::check(node, &range)?;
    Ok(range)
}

/// Reads an object whose values are strings, and whose names are not the host's.
fn attributes(node: &Node) -> Result<Attributes, ConfigError> {
    let pair = |(name, value): (String, Node)| match is_reserved(&name) {
        true => Err(value.wrong(format!("name {name:?} is reserved for the host: choose another one"))),
        false => Ok((name, value.text()?.to_owned())),
    };
    node.entries()?.into_iter().map(pair).collect()
}

/// The address under a key, with the key's node.
fn address(node: &Node, key: &str) -> Result<Option<(Node, IpAddr)>, ConfigError> {
    let Some(key) = node.get(key)? else { return Ok(None) };
    Ok(key.address()?.map(|address| (key, address)))
}

/// The last assignable address: an IPv4 subnet reserves its broadcast address.
fn last_usable(subnet: Subnet) -> IpAddr {
    match subnet.broadcast() {
        IpAddr::V4(broadcast) => std::net::Ipv4Addr::from(u32::from(broadcast).saturating_sub(1)).into(),
        last => last,
    }
}

/// Refuses sets that overlap. As in the reference plugin, the error names the first set that overlaps with a later
/// one.
fn refuse_overlapping(sets: &[RangeSet], members: &[Member]) -> Result<(), ConfigError> {
    let mut all = ReservedRanges::default();
    let ranges = || sets.iter().flat_map(|set| &set.0);
    if !ranges().any(|range| {
        all.overlaps(range) || {
            all.add(range);
            false
        }
    }) {
        return Ok(());
    }
    for (index, set) in sets.iter().enumerate() {
        for ((other_index, other), (path, _)) in sets.iter().enumerate().zip(members).skip(index + 1) {
            let overlaps = |range: &Range| other.0.iter().any(|other| other.overlaps(range));
            if set.0.iter().any(overlaps) {
                let message = format!("range set {index} overlaps with {other_index}");
                return Err(ConfigError::new(path, message));
            }
        }
    }
    Ok(())
}
