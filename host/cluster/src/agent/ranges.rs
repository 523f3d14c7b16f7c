//! The ranges of a block: its addresses without the pool's exclusions. All of them carry the block's label, and what the pool says of its addresses.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use ipnet::IpNet;
use tenure_types::cni::{Route, Success};
use tenure_types::{Attributes, COOLDOWN_SECONDS, InvalidAttributes, Range, RangeError, agreed};

use crate::convert::{AddressRun, PoolExclusions, address, number};
use crate::objects::delivery::RouteEntry;
use crate::objects::node::PoolSettings;

/// The definition's attribute for the gateway of a block.
const GATEWAY: &str = "cluster.gateway";

/// The reason for which a pool's settings cannot be applied to a block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BlockRangeError {
    /// The addresses cannot be a range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// The routes cannot be kept.
    #[error(transparent)]
    Attributes(#[from] InvalidAttributes),
    /// A route of another version.
    #[error("route {0:?} cannot be read")]
    Route(String),
}

/// The subnet of a block's addresses, as a pod sees it.
struct BlockSubnet {
    subnet: IpNet,
    gateway: Option<IpAddr>,
    prefix_length: u8,
}

/// The ranges of a block, in order.
///
/// # Errors
/// If the pool's settings cannot be applied to it.
pub(crate) fn block_ranges(
    cidr: IpNet,
    settings: &PoolSettings,
    definition: &Attributes,
) -> Result<Vec<Range>, BlockRangeError> {
    let carried = carried(cidr, settings)?;
    let seen = block_subnet(cidr, settings, definition);
    let range = |(first, last): AddressRun| {
        let (first, last) = (address(cidr, first), address(cidr, last));
        let range = Range::new(seen.subnet, first, last, seen.gateway, seen.prefix_length)?;
        Ok(range.with(carried.clone()))
    };
    runs(cidr, settings).into_iter().map(range).collect()
}

/// The ranges of a block that leaves with its CIDR: those that it has, without what has been excluded since, and with the cooldown of now. The routes of now
/// are not about it, nor is the gateway: their next hops are in the CIDRs that the pool has instead.
///
/// # Errors
/// If the pool's settings cannot be applied to it.
pub(crate) fn leaving_ranges<'a>(
    cidr: IpNet,
    present: impl IntoIterator<Item = &'a Range>,
    settings: &PoolSettings,
) -> Result<Vec<Range>, BlockRangeError> {
    let (cooldown, left) = (cooldown(settings), runs(cidr, settings));
    let mut ranges = Vec::new();
    for range in present {
        let of_range = (number(range.first()), number(range.last()));
        let kept = range.attributes().iter().filter(|(name, _)| *name != COOLDOWN_SECONDS);
        let kept = kept.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let carried = Attributes::new(kept.chain(cooldown.clone()))?;
        for (first, last) in
            left.iter().map(|(first, last)| ((*first).max(of_range.0), (*last).min(of_range.1)))
        {
            if first <= last {
                let (first, last) = (address(cidr, first), address(cidr, last));
                let left = Range::new(range.subnet(), first, last, range.gateway(), range.prefix_length())?;
                ranges.push(left.with(carried.clone()));
            }
        }
    }
    Ok(ranges)
}

/// The gateway of a block and the prefix length of its addresses: as the pool says, or else the network.
fn block_subnet(cidr: IpNet, settings: &PoolSettings, definition: &Attributes) -> BlockSubnet {
    let alone = BlockSubnet { subnet: cidr, gateway: None, prefix_length: cidr.max_prefix_len() };
    let at = |index: u128| {
        let gateway = address(cidr, number(cidr.network()).saturating_add(index));
        let fits = cidr.contains(&gateway);
        fits.then(|| BlockSubnet { subnet: cidr, gateway: Some(gateway), prefix_length: cidr.prefix_len() })
    };
    let entry = settings.gateway.as_ref();
    let fixed = entry.and_then(|entry| match cidr {
        IpNet::V4(_) => entry.ipv4.as_deref(),
        IpNet::V6(_) => entry.ipv6.as_deref(),
    });
    if let Some(gateway) = fixed.and_then(|gateway| gateway.parse::<IpAddr>().ok()) {
        let subnets = settings.gateway_subnets.iter().filter_map(|subnet| subnet.parse::<IpNet>().ok());
        let mut around = subnets.filter(|subnet| subnet.contains(&gateway) && subnet.contains(&cidr));
        return around.next().map_or(alone, |subnet| BlockSubnet {
            subnet,
            gateway: Some(gateway),
            prefix_length: subnet.prefix_len(),
        });
    }
    if let Some(index) = entry.and_then(|entry| entry.block_index) {
        return u128::try_from(index).ok().and_then(at).unwrap_or(alone);
    }
    let is_none = entry.is_some_and(|entry| entry.none == Some(true));
    let has_ends = cidr.prefix_len() + 1 < cidr.max_prefix_len();
    match !is_none && has_ends && definition.get(GATEWAY) != Some("none") {
        true => at(1).unwrap_or(alone),
        false => alone,
    }
}

/// The attributes that an address takes along: its block, the routes of its family, and how long it cools down.
fn carried(cidr: IpNet, settings: &PoolSettings) -> Result<Attributes, BlockRangeError> {
    let routes = settings.routes.iter().map(route).collect::<Result<Vec<_>, _>>()?;
    let of_family = routes.into_iter().filter(|route| route.dst.addr().is_ipv4() == cidr.addr().is_ipv4());
    let routed = Success { routes: of_family.collect(), ..Success::default() };
    let with_routes = routed.carried(agreed::BLOCK, &cidr.to_string())?;
    let pairs = with_routes.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(Attributes::new(pairs.chain(cooldown(settings)))?)
}

/// The attribute by which an address cools down longer than the node asks for.
fn cooldown(settings: &PoolSettings) -> Option<(String, String)> {
    let cooldown = match settings.cooldown_seconds {
        // The address of a claim stays with the claim.
        _ if settings.for_claims => agreed::NO_COOLDOWN.to_owned(),
        seconds if seconds > 0 => seconds.to_string(),
        _ => return None,
    };
    Some((COOLDOWN_SECONDS.to_owned(), cooldown))
}

fn route(entry: &RouteEntry) -> Result<Route, BlockRangeError> {
    let unread = || BlockRangeError::Route(entry.dst.clone());
    Ok(Route {
        dst: entry.dst.parse().map_err(|_| unread())?,
        gw: entry.gw.as_deref().map(str::parse).transpose().map_err(|_| unread())?,
        mtu: entry.mtu.map(u32::try_from).transpose().map_err(|_| unread())?,
        advmss: None,
        priority: None,
        table: None,
        scope: None,
    })
}

/// The runs of a block's addresses between the exclusions. The block of a claim has no places: it is the one address that the operator chose.
fn runs(cidr: IpNet, settings: &PoolSettings) -> Vec<AddressRun> {
    let places = if settings.for_claims { &[][..] } else { &settings.per_block_exclusions };
    PoolExclusions::of(&settings.exclusions, places).left_of(cidr)
}

/// Whether an address of a block is excluded.
#[must_use]
pub(crate) fn is_excluded(cidr: IpNet, address: IpAddr, settings: &PoolSettings) -> bool {
    let place = number(address);
    runs(cidr, settings).iter().all(|(first, last)| place < *first || *last < place)
}
