//! The ranges of a block: its addresses without the pool's exclusions. All of them carry the block's label, and what the pool says of its addresses.

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
    let cooldown = match settings.cooldown_seconds {
        // The address of a claim stays with the claim.
        _ if settings.for_claims => Some(agreed::NO_COOLDOWN.to_owned()),
        seconds if seconds > 0 => Some(seconds.to_string()),
        _ => None,
    };
    let cooldown = cooldown.map(|cooldown| (COOLDOWN_SECONDS.to_owned(), cooldown));
    let pairs = with_routes.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(Attributes::new(pairs.chain(cooldown))?)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::delivery::{BlockIndexRange, GatewayEntry};
    use crate::objects::node::ExclusionEntry;

    fn excluding(exclusions: &[&str]) -> PoolSettings {
        let entry = |text: &&str| match text.split_once('-') {
            Some((start, end)) => {
                ExclusionEntry { cidr: None, start: Some(start.into()), end: Some(end.into()) }
            }
            None => ExclusionEntry { cidr: Some((*text).into()), start: None, end: None },
        };
        PoolSettings { exclusions: exclusions.iter().map(entry).collect(), ..PoolSettings::default() }
    }

    fn ranges(cidr: &str, settings: &PoolSettings) -> Vec<Range> {
        block_ranges(cidr.parse().unwrap(), settings, &Attributes::default()).unwrap()
    }

    fn runs_of(cidr: &str, settings: &PoolSettings) -> Vec<String> {
        ranges(cidr, settings).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn exclusions_split_a_block() {
        assert_eq!(runs_of("10.0.0.0/26", &excluding(&[])), ["10.0.0.0-10.0.0.63"]);
        let several = excluding(&["10.0.0.60-10.0.0.200", "10.0.0.8/30", "10.0.0.10-10.0.0.20"]);
        assert_eq!(runs_of("10.0.0.0/26", &several), ["10.0.0.0-10.0.0.7", "10.0.0.21-10.0.0.59"]);
        assert_eq!(runs_of("10.0.0.64/26", &excluding(&["10.0.0.0/25", "fd00::/64"])), [""; 0]);
        let ipv6 = excluding(&["fd00::10-fd00::1f"]);
        assert_eq!(runs_of("fd00::/122", &ipv6), ["fd00::-fd00::f", "fd00::20-fd00::3f"]);
        let broadcast = "255.255.255.192/26".parse().unwrap();
        assert!(block_ranges(broadcast, &excluding(&[]), &Attributes::default()).is_err());
    }

    #[test]
    fn places_are_excluded_in_each_block() {
        let places = |start, end| BlockIndexRange { start, end };
        let settings =
            PoolSettings { per_block_exclusions: vec![places(0, 9), places(60, 99)], ..excluding(&[]) };
        assert_eq!(runs_of("10.0.0.0/26", &settings), ["10.0.0.10-10.0.0.59"]);
        assert_eq!(runs_of("fd00::40/122", &settings), ["fd00::4a-fd00::7b"]);
        let is_excluded = |address: &str| {
            super::is_excluded("10.0.0.64/26".parse().unwrap(), address.parse().unwrap(), &settings)
        };
        assert!(is_excluded("10.0.0.73") && !is_excluded("10.0.0.74"));
        let of_claims = PoolSettings { for_claims: true, ..settings };
        assert_eq!(runs_of("10.0.0.9/32", &of_claims), ["10.0.0.9-10.0.0.9"]);
    }

    #[test]
    fn the_first_address_is_the_gateway_unless_pool_or_network_says_otherwise() {
        let seen = |cidr: &str, gateway: Option<GatewayEntry>| {
            let settings = PoolSettings {
                gateway,
                gateway_subnets: vec!["10.0.0.0/16".into()],
                ..PoolSettings::default()
            };
            let first = ranges(cidr, &settings).remove(0);
            (first.gateway().map(|gateway| gateway.to_string()), first.prefix_length())
        };
        let entry = GatewayEntry::default;
        assert_eq!(seen("10.0.0.64/26", None), (Some("10.0.0.65".into()), 26));
        assert_eq!(seen("10.0.0.8/31", None), (None, 32));
        let index = GatewayEntry { block_index: Some(62), ..entry() };
        assert_eq!(seen("10.0.0.64/26", Some(index)), (Some("10.0.0.126".into()), 26));
        let none = GatewayEntry { none: Some(true), ..entry() };
        assert_eq!(seen("10.0.0.64/26", Some(none)), (None, 32));
        let fixed = GatewayEntry { ipv4: Some("10.0.0.1".into()), ..entry() };
        assert_eq!(seen("10.0.7.64/26", Some(fixed.clone())), (Some("10.0.0.1".into()), 16));
        assert_eq!(seen("10.9.0.64/26", Some(fixed.clone())), (None, 32), "of another CIDR");
        assert_eq!(seen("fd00::40/122", Some(fixed)), (Some("fd00::41".into()), 122), "of the other family");
        let network = Attributes::new([(GATEWAY, "none")]).unwrap();
        let routed = block_ranges("10.0.0.64/26".parse().unwrap(), &excluding(&[]), &network).unwrap();
        assert_eq!((routed[0].gateway(), routed[0].prefix_length()), (None, 32));
    }

    #[test]
    fn an_address_takes_its_routes_and_its_cooldown_along() {
        let route = |dst: &str| RouteEntry { dst: dst.into(), gw: None, mtu: Some(1400) };
        let settings = PoolSettings {
            routes: vec![route("10.0.0.0/8"), route("fd00::/8")],
            cooldown_seconds: 90,
            ..PoolSettings::default()
        };
        let range = ranges("10.0.0.0/26", &settings).remove(0);
        let carried = range.attributes();
        assert_eq!(carried.get("cni.route.0"), Some(r#"{"dst":"10.0.0.0/8","mtu":1400}"#));
        assert_eq!((carried.get("cni.route.1"), range.cooldown_seconds()), (None, 90));
        assert_eq!(carried.get(agreed::BLOCK), Some("10.0.0.0/26"));
    }
}
