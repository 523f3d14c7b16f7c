//! The commands of `ip` that make and remove cables.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::Command;

use ipnet::{Ipv4Net, Ipv6Net};

/// A network namespace, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Namespace(pub(super) String);

/// The subnets of the VPC.
pub(super) type Subnets = Vec<(Ipv4Net, Option<Ipv6Net>)>;

/// A cable from a node to the VPC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cable {
    /// The name of the node's end.
    pub(super) link: String,
    /// The name of the VPC's end.
    pub(super) peer: String,
    /// The MAC of the node's end.
    pub(super) mac: String,
    /// The node's namespace; the double's own if there is none.
    pub(super) node: Option<Namespace>,
    /// The address and the subnet that the node's end comes with.
    pub(super) own: Option<(Ipv4Addr, Ipv4Net)>,
}

/// The bridge in the VPC's namespace.
pub(super) const BRIDGE: &str = "vpc0";

/// The hardware address of the gateways. A bridge without one of its own takes the lowest of its ports', and when that
/// changes, the kernel forgets all neighbours.
const GATEWAY_MAC: &str = "0a:00:0e:c2:00:01";

/// The gateway of every IPv6 subnet.
const GATEWAY_SIX: &str = "fe80:ec2::1/64";

/// The name of a node's link, as an instance with predictable names has it.
pub(super) fn link(device: u32, card: u32) -> String {
    let name = format!("ens{}", device.saturating_add(5));
    if card == 0 { name } else { format!("{name}c{card}") }
}

/// The name of the VPC's end: at most 15 characters, and different for each interface.
pub(super) fn peer(interface: &str) -> String {
    let digits: Vec<char> = interface.chars().rev().take(12).collect();
    std::iter::once('p').chain(digits.into_iter().rev()).collect()
}

/// Makes a namespace.
pub(super) fn make(namespace: &str) -> Vec<String> {
    words(&format!("netns add {namespace}"))
}

/// Removes a namespace.
pub(super) fn remove(namespace: &Namespace) -> Vec<String> {
    words(&format!("netns del {}", namespace.0))
}

/// Puts the bridge and the gateways into the VPC's namespace. A gateway is the first address of its subnet.
pub(super) fn furnish(vpc: &Namespace, subnets: &Subnets) -> Vec<Vec<String>> {
    let vpc = &vpc.0;
    let mut commands = vec![
        words(&format!("-n {vpc} link set lo up")),
        words(&format!("-n {vpc} link add {BRIDGE} address {GATEWAY_MAC} type bridge")),
        words(&format!("-n {vpc} link set {BRIDGE} up")),
        words(&format!("-n {vpc} addr add {GATEWAY_SIX} dev {BRIDGE} nodad")),
    ];
    for (four, six) in subnets {
        let gateway = gateway(*four);
        commands.push(words(&format!("-n {vpc} addr add {gateway}/{} dev {BRIDGE}", four.prefix_len())));
        if let Some(six) = six {
            let gateway = Ipv6Addr::from(u128::from(six.network()).saturating_add(1));
            commands
                .push(words(&format!("-n {vpc} addr add {gateway}/{} dev {BRIDGE} nodad", six.prefix_len())));
        }
    }
    commands
}

/// Plugs a cable.
pub(super) fn plug(cable: &Cable, vpc: &Namespace) -> Vec<Vec<String>> {
    let Cable { link, peer, mac, own, .. } = cable;
    let (node, vpc) = (node(cable), &vpc.0);
    let mut commands = vec![
        words(&format!("{node}link add {link} address {mac} type veth peer name {peer} netns {vpc}")),
        words(&format!("-n {vpc} link set {peer} master {BRIDGE}")),
        words(&format!("-n {vpc} link set {peer} up")),
    ];
    if let Some((address, subnet)) = own {
        let gateway = gateway(*subnet);
        commands.push(words(&format!("{node}addr add {address}/{} dev {link}", subnet.prefix_len())));
        commands.push(words(&format!("{node}link set {link} up")));
        commands.push(words(&format!("{node}route add default via {gateway} dev {link}")));
    }
    commands
}

/// Unplugs a cable.
pub(super) fn unplug(cable: &Cable) -> Vec<Vec<String>> {
    vec![words(&format!("{}link del {}", node(cable), cable.link))]
}

/// Runs `ip`.
///
/// # Errors
/// When it cannot be started, and when it fails, with what it says.
pub(super) fn run(arguments: &[String]) -> io::Result<()> {
    let output = Command::new("ip").args(arguments).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("ip {}: {}", arguments.join(" "), said.trim())))
}

fn node(cable: &Cable) -> String {
    cable.node.as_ref().map(|namespace| format!("-n {} ", namespace.0)).unwrap_or_default()
}

fn gateway(subnet: Ipv4Net) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(subnet.network()).saturating_add(1))
}

/// The words of a command.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_primary_interface_of_a_named_namespace_comes_configured() {
        let vpc = Namespace("vpc".to_owned());
        let mut cable = Cable {
            link: link(0, 0),
            peer: peer("eni-01d811b4cbc4639e9"),
            mac: "02:00:00:00:00:01".to_owned(),
            node: Some(Namespace("node".to_owned())),
            own: Some(("10.0.0.9".parse().unwrap(), "10.0.0.0/24".parse().unwrap())),
        };
        let shown = |commands: Vec<Vec<String>>| {
            commands.iter().map(|command| command.join(" ")).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(shown(plug(&cable, &vpc)), @r"
        -n node link add ens5 address 02:00:00:00:00:01 type veth peer name p1b4cbc4639e9 netns vpc
        -n vpc link set p1b4cbc4639e9 master vpc0
        -n vpc link set p1b4cbc4639e9 up
        -n node addr add 10.0.0.9/24 dev ens5
        -n node link set ens5 up
        -n node route add default via 10.0.0.1 dev ens5
        ");
        (cable.node, cable.own) = (None, None);
        cable.link = link(2, 1);
        insta::assert_snapshot!(shown(plug(&cable, &vpc)), @r"
        link add ens7c1 address 02:00:00:00:00:01 type veth peer name p1b4cbc4639e9 netns vpc
        -n vpc link set p1b4cbc4639e9 master vpc0
        -n vpc link set p1b4cbc4639e9 up
        ");
        assert_eq!(shown(unplug(&cable)), "link del ens7c1");
    }
}
