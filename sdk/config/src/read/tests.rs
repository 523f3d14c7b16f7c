//! The acceptance table for host-local's configuration.

use super::*;

fn read_at(ipam: &str, runtime_ranges: Option<&str>, path: &str) -> Result<String, ConfigError> {
    let describe = |range: &Range| {
        let gateway = range.gateway.map(|gateway| gateway.to_string()).unwrap_or_default();
        format!("{} {range} {gateway}", range.subnet)
    };
    let sets = read(Texts { ipam, runtime_ranges }, path)?;
    let sets: Vec<_> =
        sets.iter().map(|set| set.0.iter().map(describe).collect::<Vec<_>>().join(", ")).collect();
    Ok(sets.join(" | "))
}

fn read_whole(ipam: &str) -> Result<String, ConfigError> {
    read_at(ipam, None, WHOLE)
}

#[test]
fn configurations_are_normalised() {
    let all = "::1-2001:db8::ffff:ffff:ffff:ffff";
    for (ipam, expected) in [
        (r#"{"subnet": "10.1.2.0/24"}"#, "10.1.2.0/24 10.1.2.1-10.1.2.254 10.1.2.1"),
        (r#"{"SUBNET": "10.1.2.0/25", "x": [1]}"#, "10.1.2.0/25 10.1.2.1-10.1.2.126 10.1.2.1"),
        (
            r#"{"ranges": [[{"subnet": "2001:db8::/64"}]]}"#,
            &format!("2001:db8::/64 2001:db8{all} 2001:db8::1"),
        ),
        (
            r#"{"subnet": "10.1.2.0/24", "rangeStart": "10.1.2.9", "rangeEnd": "::ffff:10.1.2.20", "gateway": "10.9.9.9",
                "ranges": [[{"subnet": "10.2.2.0/24"}, {"subnet": "10.3.2.0/30"}]], "gateway": "10.1.2.254"}"#,
            "10.1.2.0/24 10.1.2.9-10.1.2.20 10.1.2.254 \
             | 10.2.2.0/24 10.2.2.1-10.2.2.254 10.2.2.1, 10.3.2.0/30 10.3.2.1-10.3.2.2 10.3.2.1",
        ),
        (
            r#"{"subnet": null, "rangeStart": "10.9.9.9", "ranges": [[{"subnet": "0.0.0.0/0", "gateway": ""}]]}"#,
            "0.0.0.0/0 0.0.0.1-255.255.255.254 0.0.0.1",
        ),
        (
            r#"{"ranges": [[{"subnet": "10.1.2.0/24", "rangeEnd": "10.1.2.7"},
                            {"subnet": "10.1.2.0/24", "rangeStart": "10.1.2.8"}]]}"#,
            "10.1.2.0/24 10.1.2.1-10.1.2.7 10.1.2.1, 10.1.2.0/24 10.1.2.8-10.1.2.254 10.1.2.1",
        ),
    ] {
        assert_eq!(read_whole(ipam).as_deref(), Ok(expected), "{ipam}");
    }
}

#[test]
fn runtime_ranges_come_first() {
    let runtime = Some(r#"[[{"subnet": "10.3.0.0/24"}]]"#);
    let ipam = r#"{"subnet": "10.1.2.0/24", "ranges": [[{"subnet": "10.2.2.0/24"}]]}"#;
    assert_eq!(
        read_at(ipam, runtime, WHOLE).unwrap(),
        "10.3.0.0/24 10.3.0.1-10.3.0.254 10.3.0.1 | 10.1.2.0/24 10.1.2.1-10.1.2.254 10.1.2.1 \
         | 10.2.2.0/24 10.2.2.1-10.2.2.254 10.2.2.1"
    );
    let wrong = Some(r#"[[{"subnet": "10.3.0.1/24"}]]"#);
    assert_eq!(read_at("{}", wrong, WHOLE).unwrap_err().path, "runtimeConfig.ipRanges[0][0].subnet");
}

#[test]
fn wrong_configurations_are_refused_with_the_path_of_the_key() {
    for (ipam, path, message) in [
        ("{}", "ipam.ranges", "no IP ranges specified"),
        (r#"{"ranges": null}"#, "ipam.ranges", "no IP ranges specified"),
        ("[]", "ipam", "must be an object"),
        (r#"{"ranges": 1}"#, "ipam.ranges", "must be a list"),
        (r#"{"ranges": [[]]}"#, "ipam.ranges[0]", "invalid range set 0: empty range set"),
        (r#"{"ranges": [[{}]]}"#, "ipam.ranges[0][0]", "invalid range set 0: missing subnet"),
        (r#"{"subnet": 5}"#, "ipam.subnet", "invalid range set 0: must be a string"),
        (r#"{"subnet": "10.1.2.0"}"#, "ipam.subnet", "invalid range set 0: invalid CIDR address: 10.1.2.0"),
        (
            r#"{"subnet": "10.1.2.3/24"}"#,
            "ipam.subnet",
            "invalid range set 0: Network has host bits set. For a subnet mask of length 24 the network address is 10.1.2.0",
        ),
        (
            r#"{"ranges": [[{"subnet": "10.0.0.0/24"}], [{"subnet": "192.0.2.0/31"}]]}"#,
            "ipam.ranges[1][0].subnet",
            "invalid range set 1: Network 192.0.2.0/31 too small to allocate from",
        ),
        (
            r#"{"subnet": "::ffff:10.0.0.0/120"}"#,
            "ipam.subnet",
            "invalid range set 0: IPNet IP and Mask version mismatch",
        ),
        (
            r#"{"subnet": "192.0.2.0/24", "rangeStart": "192.0.3.0"}"#,
            "ipam.rangeStart",
            "invalid range set 0: RangeStart 192.0.3.0 not in network 192.0.2.0/24",
        ),
        (
            r#"{"subnet": "192.0.2.0/24", "rangeEnd": "192.0.3.0"}"#,
            "ipam.rangeEnd",
            "invalid range set 0: RangeEnd 192.0.3.0 not in network 192.0.2.0/24",
        ),
        (
            r#"{"subnet": "192.0.2.0/24", "rangeStart": "192.0.2.50", "rangeEnd": "192.0.2.40"}"#,
            "ipam.rangeEnd",
            "invalid range set 0: RangeEnd 192.0.2.40 not in network 192.0.2.0/24",
        ),
        (
            r#"{"subnet": "192.0.2.0/24", "rangeStart": "192.0.2.255"}"#,
            "ipam.rangeStart",
            "invalid range set 0: RangeStart 192.0.2.255 leaves no address in network 192.0.2.0/24",
        ),
        (
            r#"{"subnet": "192.0.2.0/24", "gateway": "::1"}"#,
            "ipam.gateway",
            "invalid range set 0: gateway ::1 and network 192.0.2.0/24 are of different address families",
        ),
        (
            r#"{"subnet": "10.1.2.0/24", "ranges": [[{"subnet": "10.1.0.0/16"}]]}"#,
            "ipam.ranges[0]",
            "range set 0 overlaps with 1",
        ),
        (
            r#"{"ranges": [[{"subnet": "10.1.2.0/24"}, {"subnet": "10.1.0.0/16"}]]}"#,
            "ipam.ranges[0][1]",
            "invalid range set 0: subnets 10.1.2.1-10.1.2.254 and 10.1.0.1-10.1.255.254 overlap",
        ),
        (
            r#"{"ranges": [[{"subnet": "10.1.2.0/24"}, {"subnet": "2001:db8::/64"}]]}"#,
            "ipam.ranges[0][1]",
            "invalid range set 0: mixed address families",
        ),
    ] {
        assert_eq!(read_whole(ipam), Err(ConfigError::new(path, message)), "{ipam}");
    }
    assert_eq!(read_whole("{").unwrap_err().path, "ipam");
}

#[test]
fn ranges_stand_at_any_path() {
    let ipam = r#"{"zones": {"Blue": {"subnet": "10.1.0.0/24", "ranges": [[{"subnet": "10.2.0.0/24"}]]},
                             "red": [[{"subnet": "10.3.0.0/24"}]], "none": {}, "wrong": [{}]},
                   "list": [{"subnet": "10.4.0.0/24"}]}"#;
    let runtime = Some(r#"[[{"subnet": "10.9.0.0/24"}]]"#);
    for (path, expected) in [
        (
            "ipam.zones.blue",
            "10.1.0.0/24 10.1.0.1-10.1.0.254 10.1.0.1 | 10.2.0.0/24 10.2.0.1-10.2.0.254 10.2.0.1",
        ),
        ("ipam.zones.red", "10.3.0.0/24 10.3.0.1-10.3.0.254 10.3.0.1"),
        ("ipam.list[0]", "10.4.0.0/24 10.4.0.1-10.4.0.254 10.4.0.1"),
    ] {
        assert_eq!(read_at(ipam, runtime, path).as_deref(), Ok(expected), "{path}");
    }
    for (path, at, message) in [
        ("ipam.zones.green", "ipam.zones.green", "no IP ranges specified"),
        ("ipam.zones.none", "ipam.zones.none", "no IP ranges specified"),
        ("ipam.list[1]", "ipam.list[1]", "no IP ranges specified"),
        ("ipam.zones.wrong", "ipam.zones.wrong[0]", "must be a list"),
        ("ipam.list.x", "ipam.list", "must be an object"),
        ("ipam.zones[0]", "ipam.zones", "must be a list"),
        ("ipam.list[x]", "ipam.list[x]", "not a path such as ipam.ranges[0]"),
        ("ipam.list[0", "ipam.list[0", "not a path such as ipam.ranges[0]"),
        ("ipamlist", "ipamlist", "not a path such as ipam.ranges[0]"),
        ("", "", "not a path such as ipam.ranges[0]"),
    ] {
        assert_eq!(read_at(ipam, runtime, path), Err(ConfigError::new(at, message)), "{path}");
    }
}

#[test]
fn a_range_may_have_a_name_and_attributes() {
    let read = |range: &str| {
        let ipam = format!(r#"{{"ranges": [[{range}]]}}"#);
        read(Texts { ipam: &ipam, runtime_ranges: None }, WHOLE).map(|sets| sets[0].0[0].clone())
    };
    let named = read(r#"{"subnet": "10.1.0.0/24", "rangeName": "a", "rangeAttributes": {"zone": "blue"}}"#);
    let named = named.unwrap();
    assert_eq!((named.name.as_str(), named.attributes.get("zone")), ("a", Some("blue")));
    let plain = read(r#"{"subnet": "10.1.0.0/24"}"#).unwrap();
    assert!(plain.name.is_empty() && plain.attributes.is_empty());
    let wrong = read(r#"{"subnet": "10.1.0.0/24", "rangeAttributes": {"zone": 1}}"#).unwrap_err();
    assert_eq!(wrong.path, "ipam.ranges[0][0].rangeAttributes.zone");
    for reserved in ["tenure.assigns", "pod.namespace", "owner.kind", "time.utc"] {
        let range = format!(r#"{{"subnet": "10.1.0.0/24", "rangeAttributes": {{"{reserved}": "x"}}}}"#);
        let wrong = read(&range).unwrap_err();
        assert!(wrong.message.contains("is reserved for the host"), "{wrong}");
        assert!(wrong.path.ends_with(&format!("rangeAttributes.{reserved}")), "{wrong}");
    }
}

#[test]
fn a_range_of_prefixes_is_the_whole_subnet_without_a_gateway() {
    let one = |range: &str| read_whole(&format!(r#"{{"ranges": [[{range}]]}}"#));
    for (range, expected) in [
        (r#"{"subnet": "10.5.0.0/16", "delegatedPrefixLength": 28}"#, "10.5.0.0/16 10.5.0.0-10.5.255.255 "),
        (
            r#"{"subnet": "10.5.0.0/16", "rangeStart": "10.5.1.0", "rangeEnd": "10.5.1.31", "gateway": "10.5.0.1",
                "delegatedPrefixLength": 28}"#,
            "10.5.0.0/16 10.5.1.0-10.5.1.31 10.5.0.1",
        ),
        (
            r#"{"subnet": "fd00::/64", "delegatedPrefixLength": 64}"#,
            "fd00::/64 fd00::-fd00::ffff:ffff:ffff:ffff ",
        ),
    ] {
        assert_eq!(one(range).as_deref(), Ok(expected), "{range}");
    }
    let ipam = r#"{"subnet": "10.5.0.0/16", "delegatedPrefixLength": 28}"#;
    let range = &read(Texts { ipam, runtime_ranges: None }, WHOLE).unwrap()[0].0[0];
    assert_eq!((range.prefix_length, range.attributes.get(crate::ASSIGNS)), (28, Some(crate::PREFIXES)));
}

#[test]
fn prefixes_that_do_not_fill_their_range_are_refused() {
    for (keys, path, message) in [
        (r#""delegatedPrefixLength": 15"#, ".delegatedPrefixLength", "length 16 to 31, but not 15"),
        (r#""delegatedPrefixLength": 32"#, ".delegatedPrefixLength", "length 16 to 31, but not 32"),
        (
            r#""delegatedPrefixLength": 28, "rangeStart": "10.5.0.8""#,
            ".rangeStart",
            "not the first address of a /28",
        ),
        (
            r#""delegatedPrefixLength": 28, "rangeEnd": "10.5.0.30""#,
            ".rangeEnd",
            "not the last address of a /28",
        ),
        (
            r#""delegatedPrefixLength": 28, "gateway": "10.5.0.1""#,
            ".gateway",
            "gateway 10.5.0.1 is inside a prefix",
        ),
    ] {
        let error = read_whole(&format!(r#"{{"subnet": "10.5.0.0/16", {keys}}}"#)).unwrap_err();
        assert_eq!(error.path, format!("ipam{path}"), "{keys}");
        assert!(error.message.contains(message), "{error:?}");
    }
    let mixed = r#"{"ranges": [[{"subnet": "10.5.0.0/16", "delegatedPrefixLength": 28}, {"subnet": "10.6.0.0/16"}]]}"#;
    assert!(read_whole(mixed).unwrap_err().message.contains("some ranges assign prefixes"));
}
