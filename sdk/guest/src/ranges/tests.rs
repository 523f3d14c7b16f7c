//! The acceptance table of host-local's configuration.

use super::*;

fn read_with(ipam: &str, attributes: &[(&str, &str)]) -> Result<String, Refusal> {
    let describe = |range: &Range| {
        let gateway = range.gateway.map(|gateway| gateway.to_string()).unwrap_or_default();
        format!("{} {range} {gateway}", range.subnet)
    };
    let pools = read(&Config::new("net", ipam, attributes))?;
    let pools: Vec<_> =
        pools.iter().map(|pool| pool.ranges.iter().map(describe).collect::<Vec<_>>().join(", ")).collect();
    Ok(pools.join(" | "))
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
        assert_eq!(read_with(ipam, &[]).as_deref(), Ok(expected), "{ipam}");
    }
}

#[test]
fn runtime_ranges_come_first() {
    let runtime = [(RUNTIME_RANGES, r#"[[{"subnet": "10.3.0.0/24"}]]"#)];
    assert_eq!(
        read_with(r#"{"subnet": "10.1.2.0/24", "ranges": [[{"subnet": "10.2.2.0/24"}]]}"#, &runtime).unwrap(),
        "10.3.0.0/24 10.3.0.1-10.3.0.254 10.3.0.1 | 10.1.2.0/24 10.1.2.1-10.1.2.254 10.1.2.1 \
         | 10.2.2.0/24 10.2.2.1-10.2.2.254 10.2.2.1"
    );
    let wrong = [(RUNTIME_RANGES, r#"[[{"subnet": "10.3.0.1/24"}]]"#)];
    let refusal = read_with("{}", &wrong).unwrap_err();
    assert!(
        matches!(refusal, Refusal::InvalidConfig { path, .. } if path == "runtimeConfig.ipRanges[0][0].subnet")
    );
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
            "invalid range set 0: gateway ::1 is not of the family of network 192.0.2.0/24",
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
        assert_eq!(read_with(ipam, &[]), Err(Refusal::config(path, message)), "{ipam}");
    }
    assert!(matches!(read_with("{", &[]), Err(Refusal::InvalidConfig { path, .. }) if path == "ipam"));
}
