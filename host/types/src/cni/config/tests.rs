use super::*;

fn parse(text: &str) -> Configuration<'_> {
    Configuration::parse(text.as_bytes()).unwrap()
}

/// A configuration with this `ipam` object.
fn with_ipam(ipam: &str) -> String {
    format!(r#"{{"cniVersion": "1.0.0", "name": "net", "ipam": {ipam}}}"#)
}

fn cause<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidConfig, "{error}");
    error.cause
}

#[test]
fn what_is_not_an_object_is_malformed() {
    for text in ["", "{", "[]", "\"x\"", "{} {}", "{\"name\": \"a\"}x", "{\"name\": \"\u{0}\"}"] {
        let error = Configuration::parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.code, ErrorCode::MalformedConfig, "{text}");
        assert!(error.cause.starts_with("error unmarshall network config: "), "{error}");
    }
    assert!(Configuration::parse(b"{\"name\": \"\xff\"}").is_err());
}

#[test]
fn the_name_is_checked_first() {
    for (text, expected) in [
        ("{}", "missing network name"),
        ("null", "missing network name"),
        (r#"{"name": ""}"#, "missing network name"),
        (r#"{"name": null, "cniVersion": 7}"#, "missing network name"),
        (r#"{"name": "a b"}"#, "invalid characters found in network name: a b"),
    ] {
        assert_eq!(cause(Configuration::parse(text.as_bytes())), expected);
    }
}

#[test]
fn what_libcni_itself_decodes_is_malformed_when_it_does_not() {
    let error = Configuration::parse(br#"{"name": 7}"#).unwrap_err();
    assert_eq!(
        (error.code, error.cause.as_str()),
        (ErrorCode::MalformedConfig, "error unmarshall network config: name: expected a string, not 7")
    );
    let error = parse(r#"{"name": "net", "cniVersion": 1.0}"#).version(&Command::Del).unwrap_err();
    assert_eq!(
        (error.code, error.cause.as_str()),
        (
            ErrorCode::MalformedConfig,
            "decoding version from network config: cniVersion: expected a string, not 1.0"
        )
    );
}

#[test]
fn a_name_is_all_that_a_del_needs() {
    let text = r#"{"name": "net", "ipam": {"ranges": 7, "routes": "x"}, "prevResult": [1], "args": 0, "runtimeConfig": "x"}"#;
    let config = parse(text);
    assert_eq!(config.name().as_str(), "net");
    assert_eq!(config.version(&Command::Del), Ok(SpecVersion::V0_1_0));
}

#[test]
fn keys_match_in_any_case_and_the_last_one_wins() {
    let config =
        parse(r#"{"name": "one", "NAME": "two", "CNIVersion": "0.4.0", "IPAM": {"Policy": "mine"}}"#);
    assert_eq!(config.name().as_str(), "two");
    assert_eq!(config.version(&Command::Check), Ok(SpecVersion::V0_4_0));
    assert_eq!(config.policy().unwrap().as_str(), "mine");
}

#[test]
fn the_ipam_object_is_kept_as_it_was_written() {
    let text = with_ipam(r#"{ "type":"tenure",  "big": 1e400 }"#);
    assert_eq!(parse(&text).ipam_text(), Ok(r#"{ "type":"tenure",  "big": 1e400 }"#));
    assert_eq!(cause(parse(r#"{"name": "net"}"#).ipam_text()), "IPAM config missing 'ipam' key");
    assert_eq!(cause(parse(&with_ipam("null")).ipam_text()), "IPAM config missing 'ipam' key");
    assert_eq!(cause(parse(&with_ipam("[]")).ipam_text()), "ipam: expected an object, not []");
}

#[test]
fn the_policy_is_host_local_by_default_and_never_a_path() {
    assert_eq!(parse(&with_ipam("{}")).policy().unwrap().as_str(), "host-local");
    assert_eq!(
        cause(parse(&with_ipam(r#"{"policy": "../x"}"#)).policy()),
        "ipam.policy: a policy name has at most 64 letters, digits, '_', '.' and '-', and begins with a letter or digit: ../x"
    );
}

#[test]
fn the_daemon_is_found_and_waited_for_as_configured() {
    let settings = |ipam: &str, command: &Command| parse(&with_ipam(ipam)).plugin_settings(command);
    let ipam = r#"{"socket": "/tmp/cni.sock", "timeout": 0.5, "resolvConf": "/etc/resolv.conf"}"#;
    let expected = PluginSettings {
        socket: Some("/tmp/cni.sock".to_owned()),
        timeout: Duration::from_millis(500),
        wait: Duration::from_millis(375),
        resolv_conf: Some("/etc/resolv.conf".to_owned()),
    };
    // STATUS refuses what ADD would.
    for command in [Command::Add, Command::Status] {
        assert_eq!(settings(ipam, &command), Ok(expected.clone()));
    }
    for command in [Command::Del, Command::Check, Command::Gc] {
        assert_eq!(settings(ipam, &command), Ok(PluginSettings { resolv_conf: None, ..expected.clone() }));
    }
    assert_eq!(settings(r#"{"socket": "", "resolvConf": ""}"#, &Command::Add), Ok(PluginSettings::default()));
    for (ipam, expected) in [
        (r#"{"socket": "cni.sock"}"#, "ipam.socket: expected an absolute path"),
        (r#"{"resolvConf": "resolv.conf"}"#, "ipam.resolvConf: expected an absolute path"),
        (r#"{"resolvConf": 7}"#, "ipam.resolvConf: expected a string, not 7"),
        ("7", "ipam: expected an object, not 7"),
    ] {
        assert_eq!(cause(settings(ipam, &Command::Add)), expected);
        assert_eq!(settings(ipam, &Command::Del), Ok(PluginSettings::default()));
    }
    for bad in ["0", "-1", "3601", "\"5\"", "1e300"] {
        let text = with_ipam(&format!(r#"{{"timeout": {bad}}}"#));
        assert!(
            cause(parse(&text).plugin_settings(&Command::Status))
                .starts_with("ipam.timeout: expected a number of seconds"),
            "{bad}"
        );
    }
}

#[test]
fn a_call_waits_for_a_daemon_that_is_away_within_its_time_limit() {
    let wait = |ipam: &str| parse(&with_ipam(ipam)).plugin_settings(&Command::Add).map(|read| read.wait);
    for (ipam, milliseconds) in [
        ("{}", 15_000),
        (r#"{"timeout": 2}"#, 1_500),
        (r#"{"wait": 0}"#, 0),
        (r#"{"wait": 0.25}"#, 250),
        (r#"{"wait": 60}"#, 20_000),
        (r#"{"timeout": 120, "wait": 60}"#, 60_000),
    ] {
        assert_eq!(wait(ipam), Ok(Duration::from_millis(milliseconds)), "{ipam}");
    }
    for bad in ["-1", "3601", "\"5\"", "1e300"] {
        let ipam = format!(r#"{{"wait": {bad}}}"#);
        assert!(cause(wait(&ipam)).starts_with("ipam.wait: expected a number of seconds"), "{bad}");
        let del = parse(&with_ipam(&ipam)).plugin_settings(&Command::Del);
        assert_eq!(del, Ok(PluginSettings::default()), "a DEL works no matter what is wrong");
    }
}

#[test]
fn routes_are_read_with_all_their_fields() {
    let text = with_ipam(
        r#"{"routes": [{"dst": "0.0.0.0/0"}, {"dst": "10.1.2.3/16", "gw": "10.0.0.9", "mtu": 1400, "advmss": 0,
            "priority": 5, "table": 0, "scope": 253}], "resolvConf": "/etc/resolv.conf"}"#,
    );
    let config = parse(&text);
    insta::assert_snapshot!(
        serde_json::to_string(&config.routes().unwrap()).unwrap(),
        @r#"[{"dst":"0.0.0.0/0"},{"dst":"10.1.2.3/16","gw":"10.0.0.9","mtu":1400,"priority":5,"table":0,"scope":253}]"#
    );
    assert_eq!(config.resolv_conf(), Ok(Some("/etc/resolv.conf".to_owned())));
    for (route, expected) in [
        ("{}", "ipam.routes[0].dst: missing"),
        ("7", "ipam.routes[0]: expected an object, not 7"),
        (r#"{"dst": "10.0.0.0"}"#, "ipam.routes[0].dst: not a subnet in CIDR form"),
        (r#"{"dst": "10.0.0.0/8", "gw": "x"}"#, "ipam.routes[0].gw: not an IP address"),
        (
            r#"{"dst": "10.0.0.0/8", "mtu": -1}"#,
            "ipam.routes[0].mtu: expected a non-negative whole number, not -1",
        ),
    ] {
        let text = with_ipam(&format!(r#"{{"routes": [{route}]}}"#));
        assert_eq!(cause(parse(&text).routes()), expected);
    }
}

#[test]
fn no_routes_are_another_thing_than_an_empty_list() {
    for (ipam, expected) in [("{}", None), (r#"{"routes": null}"#, None), (r#"{"routes": []}"#, Some(vec![]))]
    {
        assert_eq!(parse(&with_ipam(ipam)).routes(), Ok(expected), "{ipam}");
    }
}

#[test]
fn requested_addresses_come_in_the_reference_order() {
    let text = r#"{"name": "net", "args": {"cni": {"ips": ["10.0.0.2", "fd00::2/64"]}},
        "runtimeConfig": {"ips": ["10.0.0.3/24"], "ipRanges": [[{"subnet": "10.0.0.0/24"}]]}}"#;
    let config = parse(text);
    let arguments = Arguments::parse("IP=10.0.0.1").unwrap();
    let requested: Vec<_> = config.requested(&arguments).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(requested, ["10.0.0.1", "10.0.0.2", "fd00::2", "10.0.0.3"]);
    assert_eq!(config.ip_ranges(), Ok(Some(r#"[[{"subnet": "10.0.0.0/24"}]]"#)));

    let config =
        parse(r#"{"name": "net", "args": {"cni": null}, "runtimeConfig": {"ips": null, "ipRanges": null}}"#);
    assert_eq!(config.requested(&Arguments::default()), Ok(vec![]));
    assert_eq!(config.ip_ranges(), Ok(None));

    let config = parse(r#"{"name": "net", "runtimeConfig": {"ips": ["10.0.0.1", "10.0.0.0/33"]}}"#);
    assert_eq!(
        cause(config.requested(&Arguments::default())),
        "runtimeConfig.ips[1]: not an IP address with a prefix length"
    );
}

#[test]
fn an_address_that_is_asked_for_twice_is_one_request_and_an_empty_one_is_none() {
    let requested = |text, arguments| {
        let requested = parse(text).requested(&Arguments::parse(arguments).unwrap()).unwrap();
        requested.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let text = r#"{"name": "net", "args": {"cni": {"ips": ["10.0.0.1/24", "10.0.0.2", "10.0.0.2"]}},
        "runtimeConfig": {"ips": ["::ffff:10.0.0.1", "10.0.0.3"]}}"#;
    assert_eq!(requested(text, "IP=10.0.0.1"), ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    let text = r#"{"name": "net", "args": {"cni": {"ips": [""]}}, "runtimeConfig": {"ips": []}}"#;
    assert_eq!(requested(text, "IP="), [""; 0]);
}

#[test]
fn no_list_of_attachments_is_not_an_empty_one() {
    let list = |text: &str| {
        let owners = parse(text).valid_attachments()?;
        Ok::<_, Error>(owners.map(|owners| {
            owners.iter().map(|(container, interface)| format!("{container}/{interface}")).collect::<Vec<_>>()
        }))
    };
    assert_eq!(list(r#"{"name": "net"}"#), Ok(None));
    assert_eq!(list(r#"{"name": "net", "cni.dev/valid-attachments": []}"#), Ok(Some(vec![])));
    assert_eq!(list(r#"{"name": "net", "cni.dev/valid-attachments": null}"#), Ok(Some(vec![])));
    assert_eq!(
        list(r#"{"name": "net", "cni.dev/attachments": [{"containerID": "old", "ifname": "eth0"}]}"#),
        Ok(Some(vec!["old/eth0".to_owned()]))
    );
    assert_eq!(
        list(
            r#"{"name": "net", "cni.dev/attachments": [{"containerID": "old", "ifname": "eth0"}],
                "cni.dev/valid-attachments": [{"containerID": "new", "ifname": "eth0"}]}"#
        ),
        Ok(Some(vec!["new/eth0".to_owned()]))
    );
    assert_eq!(
        cause(list(r#"{"name": "net", "cni.dev/valid-attachments": [{"containerID": "a"}]}"#)),
        "cni.dev/valid-attachments[0]: missing interface name"
    );
}

proptest::proptest! {
    /// Any input gives a result or an error, never a panic.
    #[test]
    fn nothing_is_too_strange(text in r#"[\[\]{}:,"0-9a-z./=;\\ \u{0}-\u{ff}]{0,64}"#) {
        let ipam = with_ipam(&text);
        for text in [text.as_bytes(), ipam.as_bytes()] {
            if let Ok(config) = Configuration::parse(text) {
                let _ = (config.ipam_text(), config.policy(), config.routes());
                let _ = [Command::Add, Command::Del].map(|command| config.plugin_settings(&command));
                let _ = (config.resolv_conf(), config.ip_ranges(), config.valid_attachments());
                let _ = (config.requested(&Arguments::default()), config.version(&Command::Add));
            }
        }
        let _ = (Arguments::parse(&text), SpecVersion::settle(&text, &Command::Gc));
        let _ = crate::cni::Dns::from_resolv_conf(&text);
    }
}
