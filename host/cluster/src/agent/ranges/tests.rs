use super::*;
use crate::objects::delivery::{BlockIndexRange, GatewayEntry};
use crate::objects::node::ExclusionEntry;

fn excluding(exclusions: &[&str]) -> PoolSettings {
    let entry = |text: &&str| match text.split_once('-') {
        Some((start, end)) => ExclusionEntry { cidr: None, start: Some(start.into()), end: Some(end.into()) },
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
        let settings =
            PoolSettings { gateway, gateway_subnets: vec!["10.0.0.0/16".into()], ..PoolSettings::default() };
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
fn a_block_that_leaves_keeps_its_gateway_its_routes_and_its_exclusions() {
    let cidr: IpNet = "10.0.0.0/28".parse().unwrap();
    let gateway =
        |address: &str| Some(GatewayEntry { ipv4: Some(address.into()), ..GatewayEntry::default() });
    let of = |gateway, subnet: &str, exclusions: &[&str]| PoolSettings {
        gateway,
        gateway_subnets: vec![subnet.into()],
        ..excluding(exclusions)
    };
    let before = of(gateway("10.0.0.1"), "10.0.0.0/16", &["10.0.0.4-10.0.0.7"]);
    let route = |gw: &str| RouteEntry { dst: "172.16.0.0/12".into(), gw: Some(gw.into()), mtu: None };
    let before = PoolSettings { routes: vec![route("10.0.0.254")], ..before };
    let present = block_ranges(cidr, &before, &Attributes::default()).unwrap();
    // The pool is renumbered, with the next hop of its route.
    let now = of(gateway("10.9.0.1"), "10.9.0.0/16", &["10.9.0.0/28"]);
    let now = PoolSettings { routes: vec![route("10.9.0.254")], ..now };
    assert_eq!(leaving_ranges(cidr, &present, &now).unwrap(), present);
    let more = PoolSettings {
        cooldown_seconds: 90,
        ..of(None, "10.9.0.0/16", &["10.0.0.2-10.0.0.8", "10.0.0.12/32"])
    };
    let left = leaving_ranges(cidr, &present, &more).unwrap();
    let words: Vec<String> = left.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["10.0.0.0-10.0.0.1", "10.0.0.9-10.0.0.11", "10.0.0.13-10.0.0.15"]);
    let is_kept = |range: &Range| {
        let gateway = range.gateway().map(|gateway| gateway.to_string());
        let is_routed = range.attributes().get("cni.route.0") == present[0].attributes().get("cni.route.0");
        let rest = (gateway.as_deref(), range.prefix_length(), range.cooldown_seconds());
        is_routed && rest == (Some("10.0.0.1"), 16, 90)
    };
    assert!(left.iter().all(is_kept), "{left:?}");
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
