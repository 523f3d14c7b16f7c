//! The table as data: sets and chains, and the shape by which two tables are compared.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::{IpNet, Ipv4Net};
use sha1::{Digest as _, Sha1};

use super::ranges::Ranges;
use crate::link::LinkName;
use crate::node::{NodeNetwork, SourcePorts};

/// The table's name; its family is `ip`.
pub(crate) const NAME: &str = "tenure";

/// The destinations that a pod reaches with its own address.
const WITHIN: &str = "within";
/// The addresses of pods.
const PODS: &str = "pods";

/// The priority of mangling (iptables' mangle).
const MANGLE: i32 = -150;
/// After kube-proxy's translation of services, whose priority is -100.
const AFTER_SERVICES: i32 = -90;
/// After everybody else's source translation, whose priority is 100.
const AFTER_MASQUERADE: i32 = 110;

/// Our nftables table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NftTable {
    /// The table's sets of addresses, by name.
    pub sets: BTreeMap<&'static str, Ranges>,
    /// The table's chains.
    pub chains: Vec<Chain>,
}

/// A base chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The chain's name.
    pub name: &'static str,
    /// `nat` or `filter`.
    pub kind: &'static str,
    /// The hook that the chain is attached to.
    pub hook: &'static str,
    /// The priority at the hook; lower runs first.
    pub priority: i32,
    /// The chain's rules, in nft's language, without comments.
    pub rules: Vec<String>,
}

/// The comparable part of a table: its sets, and its chains with the marks of their rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    /// The table's sets.
    pub sets: BTreeMap<String, Ranges>,
    /// The table's chains, by name.
    pub chains: BTreeMap<String, ChainShape>,
    /// Whether there is anything else in it.
    pub other: bool,
}

/// The comparable part of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainShape {
    /// `nat`, `filter` or another.
    pub kind: String,
    /// The hook that the chain is attached to.
    pub hook: String,
    /// The priority at the hook; lower runs first.
    pub priority: i64,
    /// The comments of its rules, in order; `None` for a rule without one.
    pub marks: Vec<Option<String>>,
}

impl NftTable {
    /// The table of a node; `None` if it needs none.
    pub(crate) fn of(node: &NodeNetwork) -> Option<Self> {
        let settings = &node.settings;
        let mark = settings.mark;
        let primary = &node.primary.as_ref()?.name;
        let pods = pods_by_link(node);
        let mut chains = Vec::new();
        if settings.node_ports {
            chains.push(Chain {
                name: "mark-in",
                kind: "filter",
                hook: "prerouting",
                priority: MANGLE,
                rules: vec![format!(
                    "iifname \"{primary}\" fib daddr . iif type local ct mark set ct mark | {mark:#x}"
                )],
            });
        }
        if settings.node_ports || settings.snat.is_some() {
            let mut steps = vec![format!("meta mark set meta mark & {:#x}", !mark)];
            if settings.snat.is_some() {
                steps.push(format!(
                    "ct state new ct direction original ip saddr @{PODS} ip daddr != @{WITHIN} fib daddr type != local ct mark set ct mark | {mark:#x}"
                ));
            }
            steps.push(format!("ct mark & {mark:#x} == {mark:#x} meta mark set meta mark | {mark:#x}"));
            let rules = steps.iter().flat_map(|step| pods.iter().map(move |from| format!("{from} {step}")));
            chains.push(Chain {
                name: "mark-out",
                kind: "filter",
                hook: "prerouting",
                priority: AFTER_SERVICES,
                rules: rules.collect(),
            });
        }
        let mut sets = BTreeMap::new();
        if let Some((ports, address)) = settings.snat.zip(primary_address(node)) {
            let ports = match ports {
                SourcePorts::FullyRandom => " fully-random",
                SourcePorts::Random => " random",
                SourcePorts::Kept => "",
            };
            sets.insert(WITHIN, Ranges::of(v4(&settings.within)));
            sets.insert(PODS, Ranges::of(node.interfaces().flat_map(|interface| v4(&interface.carries))));
            chains.push(Chain {
                name: "translate",
                kind: "nat",
                hook: "postrouting",
                priority: AFTER_MASQUERADE,
                rules: vec![
                    format!("ip daddr @{WITHIN} return"),
                    "fib daddr type local return".to_owned(),
                    format!("ip saddr @{PODS} oifname != \"vlan*\" snat to {address}{ports}"),
                ],
            });
        }
        (!chains.is_empty()).then_some(Self { sets, chains })
    }

    /// The table's shape in the kernel.
    #[must_use]
    pub fn shape(&self) -> Shape {
        let chains = self.chains.iter().map(|chain| {
            let shape = ChainShape {
                kind: chain.kind.to_owned(),
                hook: chain.hook.to_owned(),
                priority: i64::from(chain.priority),
                marks: chain.rules.iter().map(|rule| Some(mark_of(rule))).collect(),
            };
            (chain.name.to_owned(), shape)
        });
        Shape {
            sets: self.sets.iter().map(|(name, ranges)| ((*name).to_owned(), ranges.clone())).collect(),
            chains: chains.collect(),
            other: false,
        }
    }
}

/// The matches of packets that come from pods: by the beginning of their links' names. Pods keep the links that they have when the setting
/// changes, so there is one for each beginning that is in use.
fn pods_by_link(node: &NodeNetwork) -> Vec<String> {
    let own = &node.settings.link_prefix;
    let others = node.pods.iter().map(|pod| pod.link.as_str()).filter(|link| !link.starts_with(own.as_str()));
    let others: BTreeSet<String> = others
        .map(|link| match LinkName::prefix_of(link) {
            Some(prefix) => format!("{prefix}*"),
            None => link.to_owned(),
        })
        .collect();
    let all = std::iter::once(format!("{own}*")).chain(others);
    all.map(|name| format!("iifname \"{name}\"")).collect()
}

/// The comment that a rule carries: the first digits of a digest of its text.
pub(super) fn mark_of(rule: &str) -> String {
    let digest = Sha1::digest(rule.as_bytes());
    digest.iter().take(6).fold("tenure ".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// The address that pods are translated to.
fn primary_address(node: &NodeNetwork) -> Option<std::net::IpAddr> {
    node.primary
        .iter()
        .flat_map(|primary| &primary.addresses)
        .map(IpNet::addr)
        .find(std::net::IpAddr::is_ipv4)
}

fn v4(nets: &[IpNet]) -> impl Iterator<Item = Ipv4Net> + '_ {
    nets.iter().filter_map(|net| match net {
        IpNet::V4(net) => Some(*net),
        IpNet::V6(_) => None,
    })
}
