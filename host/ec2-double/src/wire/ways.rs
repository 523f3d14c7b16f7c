//! Delivery inside the VPC: each address and prefix of an attached interface is behind that interface's hardware address,
//! whether or not anybody there would answer for it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};

use super::commands::{BRIDGE, Namespace, words};
use crate::state::{Interface, State, Status};

/// The ways to an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ways {
    mac: String,
    own: Ipv4Addr,
    /// The addresses besides its own, and the prefixes.
    nets: BTreeSet<IpNet>,
}

impl Ways {
    fn to(interface: &Interface) -> Option<Self> {
        let own = interface.primary()?;
        let singles = interface.ipv4.iter().filter(|address| **address != own).copied();
        let mut nets: BTreeSet<IpNet> = singles.map(|address| Ipv4Net::from(address).into()).collect();
        nets.extend(interface.ipv4_prefixes.iter().copied().map(IpNet::from));
        nets.extend(interface.ipv6_prefixes.iter().copied().map(IpNet::from));
        Some(Self { mac: interface.mac.clone(), own, nets })
    }

    /// The link-local address that stands for the interface where nothing else of IPv6 would: of its hardware address.
    fn own_six(&self) -> Ipv6Addr {
        let digits = self.mac.split(':').filter_map(|part| u16::from_str_radix(part, 16).ok());
        let mut words = [0_u16; 3];
        for (index, byte) in digits.enumerate() {
            if let Some(word) = words.get_mut(index / 2) {
                *word = (*word << 8) | byte;
            }
        }
        let [a, b, c] = words;
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, a, b, c)
    }

    fn way(&self, vpc: &Namespace, what: &str, net: IpNet) -> Vec<String> {
        let (vpc, own) = (&vpc.0, self.own);
        words(&match net {
            IpNet::V4(net) => format!("-n {vpc} route {what} {net} via {own} dev {BRIDGE}"),
            IpNet::V6(net) => format!("-n {vpc} -6 route {what} {net} via {} dev {BRIDGE}", self.own_six()),
        })
    }

    /// The commands that lead to an interface as `self` says, where it is led as `before` says.
    pub(super) fn lay(&self, before: Option<&Self>, vpc: &Namespace) -> Vec<Vec<String>> {
        let mut commands = Vec::new();
        if before.is_none() {
            let (mac, name) = (&self.mac, &vpc.0);
            for own in [self.own.to_string(), self.own_six().to_string()] {
                let neighbour =
                    format!("-n {name} neigh replace {own} lladdr {mac} dev {BRIDGE} nud permanent");
                commands.push(words(&neighbour));
            }
        }
        let known = |net: &IpNet| before.is_some_and(|before| before.nets.contains(net));
        let gone = before.into_iter().flat_map(|before| before.nets.difference(&self.nets));
        commands.extend(gone.map(|net| self.way(vpc, "del", *net)));
        commands.extend(self.nets.iter().filter(|net| !known(net)).map(|net| self.way(vpc, "replace", *net)));
        commands
    }

    /// The commands that lead nothing to an interface any more.
    pub(super) fn lift(&self, vpc: &Namespace) -> Vec<Vec<String>> {
        let mut commands: Vec<_> = self.nets.iter().map(|net| self.way(vpc, "del", *net)).collect();
        for own in [self.own.to_string(), self.own_six().to_string()] {
            commands.push(words(&format!("-n {} neigh del {own} dev {BRIDGE}", vpc.0)));
        }
        commands
    }
}

/// The ways that there should be, by interface.
pub(super) fn ways(state: &State) -> BTreeMap<String, Ways> {
    let attached = state.interfaces().all().filter(|interface| interface.status == Status::InUse);
    attached.filter_map(|interface| Some((interface.id.clone(), Ways::to(interface)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(commands: &[Vec<String>]) -> String {
        commands.iter().map(|command| command.join(" ") + "\n").collect()
    }

    #[test]
    fn an_address_and_a_prefix_are_led_to_their_interface() {
        let vpc = Namespace("vpc".to_owned());
        let nets = ["10.0.0.7/32", "10.0.0.16/28", "2001:db8:0:0:1::/80"];
        let ways = |count: usize| Ways {
            mac: "02:00:00:00:00:0a".to_owned(),
            own: "10.0.0.5".parse().unwrap(),
            nets: nets.iter().take(count).map(|net| net.parse().unwrap()).collect(),
        };
        insta::assert_snapshot!(lines(&ways(3).lay(None, &vpc)), @r"
        -n vpc neigh replace 10.0.0.5 lladdr 02:00:00:00:00:0a dev vpc0 nud permanent
        -n vpc neigh replace fe80::200:0:a lladdr 02:00:00:00:00:0a dev vpc0 nud permanent
        -n vpc route replace 10.0.0.7/32 via 10.0.0.5 dev vpc0
        -n vpc route replace 10.0.0.16/28 via 10.0.0.5 dev vpc0
        -n vpc -6 route replace 2001:db8:0:0:1::/80 via fe80::200:0:a dev vpc0
        ");
        let changed = lines(&ways(1).lay(Some(&ways(2)), &vpc));
        assert_eq!(changed, "-n vpc route del 10.0.0.16/28 via 10.0.0.5 dev vpc0\n");
        assert_eq!(ways(2).lay(Some(&ways(2)), &vpc), [[""; 0]; 0]);
        assert_eq!(ways(1).lift(&vpc).len(), 3);
    }
}
