//! The configuration keys `ranges`, `subnet`, `rangeStart`, `rangeEnd` and `gateway`, as the reference host-local reads them.
//!
//! Defaults, order and error texts are host-local's, because people grep for them; the path of the key is added.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use crate::{Config, Node, Pool, Range, Refusal, Subnet};

/// The host attribute that holds `runtimeConfig.ipRanges`.
const RUNTIME_RANGES: &str = "runtime-config.ip-ranges";

/// Reads a network's pools: `runtimeConfig.ipRanges` first, then the single range of old configurations, then `ranges`.
///
/// # Errors
/// [`Refusal::InvalidConfig`] with the path of the key that is wrong.
pub fn read(config: &Config) -> Result<Vec<Pool>, Refusal> {
    let ipam = config.root()?;
    let mut sets = Vec::new();
    if let Some(text) = config.attribute(RUNTIME_RANGES) {
        sets.extend(Node::parse("runtimeConfig.ipRanges", text)?.items()?);
    }
    let sets_before_single = sets.len();
    if let Some(ranges) = ipam.get("ranges")? {
        sets.extend(ranges.items()?);
    }
    let mut members = sets
        .iter()
        .map(|set| Ok((set.path().to_owned(), set.items()?)))
        .collect::<Result<Vec<_>, Refusal>>()?;
    if ipam.get("subnet")?.is_some() {
        members.insert(sets_before_single, (ipam.path().to_owned(), vec![ipam.clone()]));
    }
    if members.is_empty() {
        return Err(Refusal::config("ipam.ranges", "no IP ranges specified"));
    }
    let pools = members
        .iter()
        .enumerate()
        .map(|(index, (path, ranges))| pool(index, path, ranges))
        .collect::<Result<Vec<_>, _>>()?;
    refuse_overlapping(&pools, &members)?;
    Ok(pools)
}

/// One range set.
fn pool(index: usize, path: &str, ranges: &[Node]) -> Result<Pool, Refusal> {
    let invalid =
        |path: &str, message: &str| Refusal::config(path, format!("invalid range set {index}: {message}"));
    let mut pool = Pool { ranges: Vec::new() };
    for node in ranges {
        let range = range(node).map_err(|refusal| match refusal {
            Refusal::InvalidConfig { path, message } => invalid(&path, &message),
            refusal => refusal,
        })?;
        if pool.ranges.first().is_some_and(|first| first.first.is_ipv4() != range.first.is_ipv4()) {
            return Err(invalid(node.path(), "mixed address families"));
        }
        if let Some(other) = pool.ranges.iter().find(|other| other.overlaps(&range)) {
            return Err(invalid(node.path(), &format!("subnets {other} and {range} overlap")));
        }
        pool.ranges.push(range);
    }
    if pool.ranges.is_empty() {
        return Err(invalid(path, "empty range set"));
    }
    Ok(pool)
}

/// One range, with its defaults: the gateway is the subnet's first address, the ends are its first and last usable ones.
fn range(node: &Node) -> Result<Range, Refusal> {
    let Some(key) = node.get("subnet")? else { return Err(node.wrong("missing subnet")) };
    let subnet = key.subnet()?;
    if subnet.prefix_length() > subnet.bits() - 2 {
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
        return Err(key.wrong(format!("gateway {gateway} is not of the family of network {subnet}")));
    }
    let start = address(node, "rangeStart")?;
    if let Some((key, start)) = start.as_ref().filter(|(_, start)| !subnet.contains(*start)) {
        return Err(key.wrong(format!("RangeStart {start} not in network {subnet}")));
    }
    let first =
        start.as_ref().map_or_else(|| subnet.nth(1), |(_, start)| Some(*start)).unwrap_or(subnet.network());
    let end = address(node, "rangeEnd")?;
    if let Some((key, end)) = end.as_ref().filter(|(_, end)| !subnet.contains(*end) || *end < first) {
        return Err(key.wrong(format!("RangeEnd {end} not in network {subnet}")));
    }
    let last = end.map_or_else(|| last_usable(subnet), |(_, end)| end);
    if let Some((key, start)) = start.filter(|(_, start)| *start > last) {
        return Err(key.wrong(format!("RangeStart {start} leaves no address in network {subnet}")));
    }
    Ok(Range { subnet, first, last, gateway: gateway.map(|(_, gateway)| gateway).or(subnet.nth(1)) })
}

/// A key that holds an address, with its value.
fn address(node: &Node, key: &str) -> Result<Option<(Node, IpAddr)>, Refusal> {
    let Some(key) = node.get(key)? else { return Ok(None) };
    Ok(key.address()?.map(|address| (key, address)))
}

/// The last address that can be an owner's: a v4 subnet keeps its broadcast address.
fn last_usable(subnet: Subnet) -> IpAddr {
    match subnet.broadcast() {
        IpAddr::V4(broadcast) => std::net::Ipv4Addr::from(u32::from(broadcast).saturating_sub(1)).into(),
        last => last,
    }
}

fn refuse_overlapping(pools: &[Pool], members: &[(String, Vec<Node>)]) -> Result<(), Refusal> {
    for (index, pool) in pools.iter().enumerate() {
        for ((other_index, other), (path, _)) in pools.iter().enumerate().zip(members).skip(index + 1) {
            let overlaps = |range: &Range| other.ranges.iter().any(|other| other.overlaps(range));
            if pool.ranges.iter().any(overlaps) {
                return Err(Refusal::config(path, format!("range set {index} overlaps with {other_index}")));
            }
        }
    }
    Ok(())
}
