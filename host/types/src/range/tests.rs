use super::*;

fn range(subnet: &str, first: &str, last: &str, gateway: Option<&str>) -> Result<Range, RangeError> {
    let subnet: IpNet = subnet.parse().unwrap();
    Range::new(
        subnet,
        first.parse().unwrap(),
        last.parse().unwrap(),
        gateway.map(|gateway| gateway.parse().unwrap()),
        subnet.prefix_len(),
    )
}

#[test]
fn a_slash_29_has_five_addresses_beside_its_gateway() {
    let range = range("192.168.1.0/29", "192.168.1.0", "192.168.1.7", Some("192.168.1.1")).unwrap();
    assert_eq!(range.size(), 5);
    for (ip, reason) in [(0, "the network address"), (1, "the gateway"), (7, "the broadcast address")] {
        assert_eq!(range.reserved(IpAddr::from([192, 168, 1, ip])), Some(reason));
    }
    assert_eq!(range.reserved(IpAddr::from([192, 168, 1, 6])), None);
}

#[test]
fn a_name_is_its_ends_unless_it_is_given() {
    let range = range("10.0.0.0/24", "10.0.0.4", "10.0.0.9", None).unwrap();
    assert_eq!((range.name().as_str(), range.has_default_name()), ("10.0.0.4-10.0.0.9", true));
    assert!(!range.named(RangeName::new("eni-1").unwrap()).has_default_name());
}

#[test]
fn large_ranges_cap_their_size() {
    assert_eq!(range("10.0.0.0/8", "10.0.0.1", "10.255.255.254", None).unwrap().size(), 16_777_214);
    assert_eq!(range("fd00::/64", "fd00::1", "fd00::ffff:ffff:ffff:ffff", None).unwrap().size(), u32::MAX);
    assert_eq!(range("10.0.0.0/32", "10.0.0.0", "10.0.0.0", None).unwrap().size(), 1);
}

#[test]
fn impossible_ranges_are_refused() {
    assert!(matches!(range("10.0.0.1/24", "10.0.0.1", "10.0.0.2", None), Err(RangeError::HostBits(_))));
    assert!(matches!(range("10.0.0.0/24", "10.0.0.9", "10.0.0.2", None), Err(RangeError::Reversed(..))));
    assert!(matches!(range("10.0.0.0/24", "10.0.1.1", "10.0.1.2", None), Err(RangeError::Outside(..))));
    for (subnet, address) in
        [("0.0.0.0/8", "0.0.0.9"), ("127.0.0.0/8", "127.9.9.9"), ("ff02::/16", "ff02::5")]
    {
        assert!(matches!(range(subnet, address, address, None), Err(RangeError::Special(..))), "{subnet}");
    }
    let across = range("126.0.0.0/7", "126.255.255.1", "127.0.0.9", None);
    assert!(matches!(across, Err(RangeError::Special(_, _, "loopback"))));
    assert!(matches!(range("0.0.0.0/0", "10.0.0.1", "10.0.0.9", None), Err(RangeError::Everywhere(_))));
    assert!(matches!(
        range("::ffff:a00:0/120", "::ffff:a00:1", "::ffff:a00:2", None),
        Err(RangeError::Mapped(_))
    ));
}
