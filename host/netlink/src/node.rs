//! The description of a node: what its owner knows of interfaces and pods, without a word of netlink.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::parts::Mac;

/// A node with cloud interfaces, or with pods alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeNetwork {
    /// The interface that the node started with. Its address and its routes belong to the operating system; only its MTU, its
    /// state and two sysctls are set. `None` on a node without cloud interfaces: there is nothing to translate or mark, and no
    /// interface is touched.
    pub primary: Option<CloudInterface>,
    /// All others. Their addresses and routes are ours.
    pub secondary: Vec<CloudInterface>,
    /// The pods whose links exist or are about to.
    pub pods: Vec<Pod>,
    /// The settings for the whole node.
    pub settings: NodeSettings,
}

impl NodeNetwork {
    /// All interfaces, the primary one first.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = &CloudInterface> {
        self.primary.iter().chain(&self.secondary)
    }
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudInterface {
    /// The link's name.
    pub name: String,
    /// The link's hardware address. A link of this name with another one is a stranger's and not touched.
    pub mac: Mac,
    /// The network card that it is on.
    pub card: u32,
    /// The interface's device index on that card.
    pub device: u32,
    /// The interface's own addresses, each with the prefix length of its subnet.
    pub addresses: Vec<IpNet>,
    /// The prefixes or single addresses that it carries for pods.
    pub carries: Vec<IpNet>,
}

/// A pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// The pod's addresses.
    pub addresses: Vec<IpAddr>,
    /// The host's end of its link.
    pub link: String,
}

/// Settings for the whole node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSettings {
    /// The MTU of each interface, in bytes.
    pub mtu: u32,
    /// The bits that mark a flow as the primary's, as value and as mask. Only these bits of a mark are ever read or changed.
    pub mark: u32,
    /// Whether a connection that came in by the primary goes back by it, as node ports need.
    pub node_ports: bool,
    /// Whether pods reach the outside with the primary's address, and how ports are chosen for that. `None`: a gateway does it.
    pub snat: Option<SourcePorts>,
    /// The destinations that pods reach with their own address: the cloud network's ranges, and what else is excluded.
    pub within: Vec<IpNet>,
    /// The destinations that are always reached by the main table.
    pub external: Vec<IpNet>,
    /// How the host's ends of pods' links begin.
    pub link_prefix: String,
    /// Whether ipamd's rules for the same pods and interfaces are replaced by ours.
    pub adopt: bool,
}

impl Default for NodeSettings {
    fn default() -> Self {
        Self {
            mtu: 9001,
            mark: 0x80,
            node_ports: true,
            snat: Some(SourcePorts::FullyRandom),
            within: Vec::new(),
            external: Vec::new(),
            link_prefix: "eni".to_owned(),
            adopt: false,
        }
    }
}

/// How the source port of a translated flow is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourcePorts {
    /// At random.
    FullyRandom,
    /// By a hash of the flow.
    Random,
    /// The pod's own if it is free.
    Kept,
}
