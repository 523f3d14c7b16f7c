//! Input from a runtime: the environment, the network configuration, and a resolv.conf on the node.
//!
//! The input is text. The first seven lines are the variables in the order of [`VARIABLES`]; then comes the
//! configuration and, after a line of three hyphens, the resolv.conf.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;
use tenure_types::cni::{
    Arguments, Command, Configuration, Dns, Environment, ErrorReport, PluginSettings, Route, SpecVersion,
    Success, versions,
};
use tenure_types::{AssignedAddress, ContainerId, Error, ErrorCode, InterfaceName, NetworkName};

const VARIABLES: [&str; 7] = [
    "CNI_COMMAND",
    "CNI_CONTAINERID",
    "CNI_NETNS",
    "CNI_IFNAME",
    "CNI_ARGS",
    "CNI_PATH",
    "CNI_NETNS_OVERRIDE",
];

/// Reads one call as the plugin and the daemon do, and renders their output.
///
/// # Panics
/// When an answer is not the expected JSON object, or does not match the input.
pub fn cni_input(data: &[u8]) {
    let mut lines = data.splitn(VARIABLES.len() + 1, |byte| *byte == b'\n');
    let values: Vec<String> =
        lines.by_ref().take(VARIABLES.len()).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let rest = lines.next().unwrap_or_default();
    let (text, resolv_conf) = split(rest);

    let lookup = |name: &str| {
        let index = VARIABLES.iter().position(|known| *known == name)?;
        values.get(index).cloned()
    };
    let environment = checked(Environment::read(lookup));
    let command = Command::new(&lookup("CNI_COMMAND").unwrap_or_default());
    assert_eq!(command, Command::new(&command.to_string()), "a command does not round-trip through its name");
    if let Some(environment) = environment.filter(|environment| environment.command.names_attachment()) {
        let container = ContainerId::new(&environment.container_id);
        let interface = InterfaceName::new(&environment.interface);
        assert!(
            container.is_ok() && interface.is_ok(),
            "a checked environment does not name a valid attachment"
        );
    }
    let arguments = checked(Arguments::parse(&lookup("CNI_ARGS").unwrap_or_default())).unwrap_or_default();
    let Some(configuration) = checked(Configuration::parse(text)) else { return };
    let success = read(&configuration, &command, &arguments, resolv_conf);
    for version in SpecVersion::ALL {
        check_rendered(&success, version);
    }
}

fn split(rest: &[u8]) -> (&[u8], &[u8]) {
    const SEPARATOR: &[u8] = b"\n---\n";
    let Some(at) = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR) else {
        return (rest, &[]);
    };
    let (text, resolv_conf) = rest.split_at(at);
    (text, resolv_conf.get(SEPARATOR.len()..).unwrap_or_default())
}

/// Reads every part of the configuration, and builds a result from it.
fn read(
    configuration: &Configuration<'_>,
    command: &Command,
    arguments: &Arguments,
    resolv_conf: &[u8],
) -> Success {
    assert_eq!(NetworkName::new(configuration.name().as_str()).as_ref(), Ok(configuration.name()));
    if let Some(version) = checked(configuration.version(command)) {
        assert_eq!(SpecVersion::find(version.as_str()), Some(version));
    }
    if let Some(ipam) = checked(configuration.ipam_text()) {
        assert!(serde_json::from_str::<Value>(ipam).is_ok_and(|ipam| ipam.is_object() || ipam.is_array()));
    }
    if let Some(PluginSettings { socket, timeout, wait, resolv_conf }) =
        checked(configuration.plugin_settings(command))
    {
        assert!(!timeout.is_zero() && timeout.as_secs() <= 3600, "the timeout is {timeout:?}");
        assert!(wait <= timeout, "it waits for {wait:?}");
        for path in [&socket, &resolv_conf].into_iter().flatten() {
            assert!(path.starts_with('/'), "a path is relative");
        }
    }
    assert!(configuration.plugin_settings(&Command::Del).is_ok(), "a DEL fails because of its configuration");
    checked(configuration.resolv_conf());
    checked(configuration.policy());
    checked(configuration.ip_ranges());
    checked(configuration.valid_attachments());
    let requested = checked(configuration.requested(arguments)).unwrap_or_default();
    assert!(
        requested.iter().all(|address| address.to_canonical() == *address),
        "an address is not in canonical form"
    );
    let routes = checked(configuration.routes()).flatten().unwrap_or_default();
    check_routes(&routes);
    Success {
        addresses: requested.into_iter().map(assigned).collect(),
        routes,
        dns: Dns::from_resolv_conf(&String::from_utf8_lossy(resolv_conf)),
        link: None,
    }
}

fn assigned(address: IpAddr) -> AssignedAddress {
    AssignedAddress::plain(IpNet::from(address), Some(address))
}

/// Checks that rendered routes parse to the same routes.
fn check_routes(routes: &[Route]) {
    let told = serde_json::json!({ "name": "again", "ipam": { "routes": routes } }).to_string();
    let again = Configuration::parse(told.as_bytes()).and_then(|again| again.routes());
    assert!(again.is_ok_and(|again| again.as_deref() == Some(routes)), "rendered as {told}");
}

fn check_rendered(success: &Success, version: SpecVersion) {
    let v4 = success.addresses.iter().filter(|assigned| assigned.address.addr().is_ipv4()).count();
    let v6 = success.addresses.len() - v4;
    let tellable = version >= SpecVersion::V0_3_0 || (v4 < 2 && v6 < 2 && v4 + v6 > 0);
    let Some(text) = checked(success.render(version)) else {
        assert!(!tellable, "{version} can express {:?}", success.addresses);
        return;
    };
    assert!(tellable, "{version} cannot express {:?}", success.addresses);
    let told = object(&text, version);
    let addresses = success.addresses.iter().map(|assigned| Value::from(assigned.address.to_string()));
    if version < SpecVersion::V0_3_0 {
        for address in addresses {
            let key =
                if address.as_str().is_some_and(|text| text.contains(':')) { "/ip6/ip" } else { "/ip4/ip" };
            assert_eq!(told.pointer(key), Some(&address), "{text}");
        }
        return;
    }
    let ips = told.get("ips").and_then(Value::as_array).into_iter().flatten();
    assert!(ips.filter_map(|ip| ip.get("address")).cloned().eq(addresses), "{text}");
    let servers = told.pointer("/dns/nameservers").and_then(Value::as_array).map_or(0, Vec::len);
    assert_eq!(servers, success.dns.nameservers.len(), "{text}");
}

/// Returns the value. An error must not be internal, and every version must be able to render it.
fn checked<T>(outcome: Result<T, Error>) -> Option<T> {
    let error = match outcome {
        Ok(value) => return Some(value),
        Err(error) => error,
    };
    assert_ne!(error.code, ErrorCode::Internal, "a caller's input caused an internal error: {error}");
    for version in SpecVersion::ALL {
        let text = ErrorReport::from(&error).render(version);
        assert_eq!(object(&text, version).get("code"), Some(&Value::from(error.code.cni())), "{text}");
    }
    None
}

/// Parses a text as one object, and checks its version.
fn object(text: &str, version: SpecVersion) -> Value {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    assert_eq!(value.get("cniVersion"), Some(&Value::from(version.as_str())), "{text}");
    assert!(versions().contains(version.as_str()));
    value
}
