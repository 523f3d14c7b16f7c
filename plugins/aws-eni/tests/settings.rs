//! The settings: what each key and each of ipamd's names becomes, and what is refused.

#![expect(clippy::unwrap_used, reason = "test helpers are part of the tests")]

use std::rc::Rc;

use tenure_aws_eni::AwsEni;
use tenure_aws_eni::settings::{AwsSettings, KNOBS, KnobKind, Role, WarmTarget, keyed};
use tenure_sdk::{Config, Cooling, Need, Policy, Supply};

fn read(ipam: &str) -> Result<(AwsSettings, Vec<String>), String> {
    AwsSettings::read(&Config::new("net", ipam, &[])).map_err(|error| error.to_string())
}

fn settings(ipam: &str) -> AwsSettings {
    read(ipam).unwrap().0
}

fn env(pairs: &str) -> Result<(AwsSettings, Vec<String>), String> {
    read(&format!(r#"{{ "env": {{ {pairs} }} }}"#))
}

#[test]
fn the_defaults_are_those_of_ipamd() {
    let (settings, warnings) = read("{}").unwrap();
    assert_eq!(warnings, [""; 0]);
    assert_eq!(settings.target(false), WarmTarget::Interfaces(1));
    assert_eq!((settings.prefixes, settings.ipv4, settings.ipv6), (false, true, false));
    assert_eq!((settings.most_interfaces, settings.most_pods, settings.idle), (None, None, 60));
    assert!(!settings.fixed && !settings.custom_network && !settings.grow_unschedulable && settings.fallback);
}

#[test]
fn the_daemon_sets_environment_is_read_as_it_is() {
    // As amazon-vpc-cni-k8s v1.23 ships it.
    let (settings, warnings) = env(
        r#""ADDITIONAL_ENI_TAGS": "{}", "ANNOTATE_POD_IP": "false", "AWS_VPC_CNI_NODE_PORT_SUPPORT": "true",
        "AWS_VPC_ENI_MTU": "9001", "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "false", "AWS_VPC_K8S_CNI_EXTERNALSNAT": "false",
        "AWS_VPC_K8S_CNI_RANDOMIZESNAT": "prng", "AWS_VPC_K8S_CNI_VETHPREFIX": "eni", "CLUSTER_NAME": "blue",
        "DISABLE_LEAKED_ENI_CLEANUP": "false", "DISABLE_NETWORK_RESOURCE_PROVISIONING": "false", "ENABLE_IPv4": "true",
        "ENABLE_IPv6": "false", "ENABLE_POD_ENI": "false", "ENABLE_PREFIX_DELEGATION": "false",
        "ENABLE_SUBNET_DISCOVERY": "true", "WARM_ENI_TARGET": "1", "WARM_PREFIX_TARGET": "1""#,
    )
    .unwrap();
    assert_eq!(
        (settings.target(false), settings.target(true)),
        (WarmTarget::Interfaces(1), WarmTarget::Prefixes(1))
    );
    assert_eq!(warnings, [""; 0]);
    assert_eq!(settings.host_attributes().get("cluster"), Some("blue"));
}

#[test]
fn one_of_two_targets_replaces_those_of_interfaces_and_prefixes() {
    for (ipam, warm, minimum) in [
        (r#"{ "warm": { "addresses": 2, "interfaces": 3 } }"#, 2, 0),
        (r#"{ "warm": { "minimum": 9 } }"#, 0, 9),
        (r#"{ "env": { "WARM_IP_TARGET": "2", "MINIMUM_IP_TARGET": "5", "WARM_ENI_TARGET": "1" } }"#, 2, 5),
    ] {
        assert_eq!(settings(ipam).target(false), WarmTarget::Addresses { warm, minimum }, "{ipam}");
    }
}

#[test]
fn what_ipamd_takes_for_a_default_is_a_default_with_a_warning() {
    for (pair, warning) in [
        (r#""WARM_ENI_TARGET": "many""#, "\"many\" is not a non-negative integer; using the default: 1"),
        (r#""WARM_ENI_TARGET": "-1""#, "\"-1\" is not a non-negative integer; using the default: 1"),
        (r#""WARM_IP_TARGET": "1.5""#, "using the default: 0"),
        (r#""MAX_ENI": "x""#, "using the default: none"),
        (r#""ENABLE_PREFIX_DELEGATION": "yes""#, "\"yes\" is not true or false; using the default: false"),
        (r#""ENABLE_POD_ENI": "maybe""#, "using the default: false"),
        (r#""AWS_VPC_K8S_CNI_RANDOMIZESNAT": "dice""#, "\"dice\" is not one of prng, hashrandom, none"),
        (r#""AWS_VPC_K8S_CNI_CONNMARK": "blue""#, "is not a mark such as 0x80; using the default: 0x80"),
        (r#""AWS_VPC_ENI_MTU": "9500""#, "9500 is not from 576 to 9001; using 9001"),
        (r#""HTTP_TIMEOUT": "3""#, "3 is not from 10 to 3600; using 10"),
        (r#""ADDITIONAL_ENI_TAGS": "a=b""#, "is not a JSON object of strings; using the default: none"),
        (r#""AWS_EXTERNAL_SERVICE_CIDRS": "10.2.0.0/16, x""#, "skipping what is not an IPv4 subnet: x"),
        (r#""AWS_VPC_K8S_CNI_LOGLEVEL": "DEBUG""#, "has no effect: tenured has its own log"),
    ] {
        let (settings, warnings) = env(pair).unwrap();
        assert!(warnings.len() == 1 && warnings[0].contains(warning), "{pair}: {warnings:?}");
        assert_eq!((settings.target(false), settings.prefixes), (WarmTarget::Interfaces(1), false), "{pair}");
    }
}

#[test]
fn booleans_and_numbers_are_read_as_go_reads_them() {
    for (text, is_set) in
        [("1", true), ("t", true), ("TRUE", true), ("True", true), ("0", false), ("F", false)]
    {
        assert_eq!(
            env(&format!(r#""MANAGE_UNTAGGED_ENI": "false", "ENABLE_IPv6": "{text}""#)).unwrap().0.ipv6,
            is_set
        );
    }
    for (text, count) in [("+3", 3), ("007", 7), ("4294967296", u32::MAX)] {
        let settings = env(&format!(r#""WARM_ENI_TARGET": "{text}""#)).unwrap().0;
        assert_eq!(settings.target(false), WarmTarget::Interfaces(count), "{text}");
    }
    assert_eq!(
        env(r#""WARM_ENI_TARGET": 2"#).unwrap().0.target(false),
        WarmTarget::Interfaces(2),
        "a number in TOML"
    );
    assert_eq!(env(r#""MAX_ENI": "0""#).unwrap().0.most_interfaces, None);
    assert_eq!(env(r#""WARM_ENI_TARGET": """#).unwrap().1, [""; 0], "empty is absent");
}

#[test]
fn the_keys_of_the_plugin_and_the_host_are_theirs() {
    let ipam = r#"{ "type": "tenure", "policy": "aws-eni", "socket": "/run/tenure/cni.sock", "timeout": 60, "wait": 30,
        "resolvConf": "/etc/resolv.conf", "routes": [{ "dst": "0.0.0.0/0" }], "dataDir": "/var/lib/cni/networks" }"#;
    assert_eq!(read(ipam), read("{}"));
}

#[test]
fn what_is_wrong_is_refused_with_its_path() {
    for (ipam, message) in [
        (r#"{ "warn": {} }"#, "ipam.warn: is not a setting of this policy"),
        (r#"{ "warm": { "ips": 3 } }"#, "ipam.warm.ips: is not a setting of this policy"),
        (r#"{ "warm": { "addresses": "3" } }"#, "ipam.warm.addresses: must be a non-negative integer"),
        (r#"{ "warm": 3 }"#, "ipam.warm: must be an object"),
        (r#"{ "prefixes": "true" }"#, "ipam.prefixes: must be true or false"),
        (r#"{ "mtu": 9500 }"#, "ipam.mtu: must be from 576 to 9001"),
        (r#"{ "snat": { "ports": "dice" } }"#, "ipam.snat.ports: must be one of: prng, hashrandom, none"),
        (r#"{ "snat": { "exclude": ["10.1.0.0/33"] } }"#, "ipam.snat.exclude[0]: must be an IPv4 subnet"),
        (r#"{ "connmark": "blue" }"#, "ipam.connmark: must be bits of a mark, such as \"0x80\""),
        (r#"{ "vethPrefix": "pods0" }"#, "ipam.vethPrefix: must be 1 to 4 letters or digits"),
        (r#"{ "vethPrefix": "vlan" }"#, "ipam.vethPrefix: \"vlan\" is used by other interfaces"),
        (
            r#"{ "env": { "WARM_IPS": "1" } }"#,
            "ipam.env.WARM_IPS: is not a setting of ipamd that this policy knows",
        ),
        (
            r#"{ "env": { "WARM_IP_TARGET": [] } }"#,
            "ipam.env.WARM_IP_TARGET: must be a string, as in the environment",
        ),
        (
            r#"{ "maxInterfaces": 2, "env": { "MAX_ENI": "2" } }"#,
            "ipam.env.MAX_ENI: is set twice: as ipam.maxInterfaces as well",
        ),
        (
            r#"{ "prefixes": true }"#,
            "ipam.prefixes: needs one of warm.prefixes, warm.addresses and warm.minimum above 0",
        ),
        (r#"{ "ipv4": false }"#, "ipam.ipv4: at least one of ipv4 and ipv6 must be true"),
        (
            r#"{ "ipv6": true, "customNetwork": { "enabled": true } }"#,
            "ipam.customNetwork.enabled: is not possible together with ipv6",
        ),
        (
            r#"{ "ec2": { "endpoint": "http://evil.example" } }"#,
            "ipam.ec2.endpoint: where signed requests go is not for a network to say; set `aws.ec2_endpoint` in tenured.toml",
        ),
        (r#"{ "ipv6": true, "podMtu": 1200 }"#, "ipam.podMtu: IPv6 needs at least 1280"),
    ] {
        assert_eq!(read(ipam).unwrap_err(), message, "{ipam}");
    }
    let long = format!(r#"{{ "cluster": "{}" }}"#, "x".repeat(513));
    assert_eq!(read(&long).unwrap_err(), "ipam.cluster: is 513 bytes long, and the limit is 512");
}

#[test]
fn what_is_out_of_scope_is_refused_by_name_unless_it_is_off() {
    let refused = |knob: &&tenure_aws_eni::settings::Knob| matches!(knob.role, Role::Refused(_));
    let names: Vec<_> = KNOBS.iter().filter(refused).map(|knob| (knob.env.unwrap(), knob.kind)).collect();
    assert!(names.len() >= 8, "{names:?}");
    for (name, kind) in names {
        let (off, on) = match kind {
            KnobKind::Flag(false) => ("false", "true"),
            KnobKind::Text("") => ("", "https://ec2.example"),
            _ => ("standard", "strict"),
        };
        assert!(env(&format!(r#""{name}": "{off}""#)).is_ok(), "{name}");
        let error = env(&format!(r#""{name}": "{on}""#)).unwrap_err();
        assert!(error.starts_with(&format!("ipam.env.{name}: \"{on}\" is out of scope: ")), "{error}");
    }
}

#[test]
fn the_host_gets_the_rest_with_the_definition() {
    let attributes = settings(
        r#"{ "snat": { "exclude": ["10.2.3.4/16", "192.168.0.0/16"], "external": true }, "interfaces": { "tags":
        { "team": "net \"a\"", "cluster.k8s.amazonaws.com/name": "x" } }, "env": { "AWS_VPC_K8S_CNI_CONNMARK": "128",
        "IP_COOLDOWN_PERIOD": "45", "ENI_CONFIG_LABEL_DEF": "topology.kubernetes.io/zone" } }"#,
    )
    .host_attributes();
    for (name, value) in [
        ("snat.exclude", "10.2.0.0/16,192.168.0.0/16"),
        ("snat.external", "true"),
        ("snat.ports", "prng"),
        ("interfaces.tags", r#"{"team":"net \"a\""}"#),
        ("connmark", "0x80"),
        ("mtu", "9001"),
        ("vethPrefix", "eni"),
        ("cooldownSeconds", "45"),
        ("subnets.discover", "true"),
        ("customNetwork.label", "topology.kubernetes.io/zone"),
        ("customNetwork.annotation", "k8s.amazonaws.com/eniConfig"),
    ] {
        assert_eq!(attributes.get(name), Some(value), "{name}");
    }
    assert!(attributes.get("warm.interfaces").is_none(), "the policy's own");
    assert!(settings("{}").host_attributes().get("cooldownSeconds").is_none(), "as on the node");
    let most = KNOBS.iter().filter(|knob| matches!(knob.role, Role::Host | Role::Both)).count();
    assert!(most <= 32, "{most} attributes are more than a definition may have");
}

#[test]
fn a_network_has_a_pool_for_each_family_and_never_hands_out_what_cools() {
    for (ipam, names) in [
        ("{}", vec!["ipv4"]),
        (r#"{ "ipv6": true }"#, vec!["ipv4", "ipv6"]),
        (
            r#"{ "env": { "ENABLE_IPv4": "false", "ENABLE_IPv6": "true", "ENABLE_PREFIX_DELEGATION": "true" } }"#,
            vec!["ipv6"],
        ),
    ] {
        let config = Config::new("net", ipam, &[]);
        let host = Rc::new(Defining(config.clone()));
        let definition = tenure_sdk::native::call(host, || AwsEni::define(&config)).unwrap();
        assert_eq!(definition.pools.iter().map(|pool| pool.name.as_str()).collect::<Vec<_>>(), names);
        assert!(definition.pools.iter().all(|pool| pool.supply == Supply::Host && pool.need == Need::Always));
        assert_eq!(definition.cooling, Cooling::Strict);
    }
}

struct Defining(Config);

impl tenure_sdk::native::Host for Defining {
    fn config(&self) -> tenure_sdk::bindings::tenure::ipam::types::Config {
        let (name, ipam) = (self.0.name.clone(), self.0.ipam.clone());
        tenure_sdk::bindings::tenure::ipam::types::Config { name, ipam, attributes: Vec::new() }
    }
}

#[test]
fn no_two_settings_have_the_same_name() {
    for (index, knob) in KNOBS.iter().enumerate() {
        let others = KNOBS.get(index + 1..).unwrap_or_default();
        assert!(others.iter().all(|other| other.key.is_none() || other.key != knob.key), "{knob:?}");
        assert!(others.iter().all(|other| other.env.is_none() || other.env != knob.env), "{knob:?}");
    }
    assert!(
        keyed("warm.addresses").is_some_and(|knob| knob.env == Some("WARM_IP_TARGET"))
            && keyed("warm").is_none()
    );
}
