//! The kernel's view of the node's interfaces: from the ledger, from EC2's account of each, and from the links that are
//! there.
//!
//! What EC2 says of an interface is kept in the checkpoint, so that a daemon that starts while EC2 is silent leads packets as
//! the one before did.
//!
//! ```text
//! the ledger: which addresses an interface has ───┐
//! EC2, or what was kept: its hardware address ────┼──▶ Node ──▶ the datapath
//! the kernel: which link has that ────────────────┘
//! ```

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use tenure_aws::executor::Status;
use tenure_aws::ranges;
use tenure_engine::Engine;
use tenure_ledger::Book;
use tenure_netlink::{CloudInterface, Kernel, KernelLink, Mac, NodeNetwork};
use tenure_types::{Attributes, NetworkName, Object};

use super::identities;
use super::settings::settings;

/// The kind of the objects that interfaces are kept as.
const INTERFACE: &str = "interface";
/// The attributes of a kept interface.
const MAC: &str = "mac";
const CARD: &str = "card";
const DEVICE: &str = "device";
const ADDRESS: &str = "address";

/// The known facts about an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
struct InterfaceFacts {
    mac: Mac,
    card: u32,
    device: u32,
    /// Primary address, with the prefix length of its subnet.
    address: IpNet,
}

/// Describes the node's interfaces.
pub(crate) struct Describing<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) network: &'a NetworkName,
}

/// A description.
#[derive(Debug, Default)]
pub(crate) struct Described {
    /// The node, without its pods.
    pub(crate) node: NodeNetwork,
    /// Whether an interface has no link yet, or EC2 has not said everything about it.
    pub(crate) is_partial: bool,
}

impl Describing<'_> {
    /// The node as it is now. Without a `status`, EC2 has not been asked.
    ///
    /// # Errors
    /// In words: when the kernel or the checkpoint does not answer, or a setting is wrong.
    pub(crate) async fn describe(&self, status: Option<&Status>) -> Result<Described, String> {
        let kernel = Kernel::connect().map_err(|error| error.to_string())?;
        let links = kernel.links().await.map_err(|error| error.to_string())?;
        let Some(book) = self.engine.book(self.network).await else { return Ok(Described::default()) };
        let carries = carried(&book);
        let objects = self.engine.objects();
        let mut facts = kept(objects.iter().map(AsRef::as_ref));
        if let Some(status) = status {
            facts.extend(said(status));
            let attached = |id: &String| status.interfaces.iter().any(|interface| interface.id == *id);
            facts.retain(|id, _| attached(id) || carries.contains_key(id));
            self.keep(&facts).await?;
        }
        let vpc = identities::kept(self.engine).map(|identity| identity.ranges).unwrap_or_default();
        let settings = settings(&book.network().attributes, &vpc)?;
        drop(book);
        let foreign = |id: &String| {
            let of = |status: &Status| status.interfaces.iter().find(|of| of.id == *id)?.duty.clone();
            status.and_then(of).is_some_and(|duty| !duty.is_managed())
        };
        let mut described =
            Described { node: NodeNetwork { settings, ..NodeNetwork::default() }, is_partial: false };
        let mut ids: BTreeSet<&String> = facts.keys().chain(carries.keys()).collect();
        ids.retain(|id| !foreign(id));
        for id in ids {
            let known = facts.get(id).and_then(|facts| Some((facts, link(&links, facts.mac)?)));
            let Some((facts, link)) = known else {
                described.is_partial = true;
                continue;
            };
            let interface = CloudInterface {
                name: link.to_owned(),
                mac: facts.mac,
                card: facts.card,
                device: facts.device,
                addresses: vec![facts.address],
                carries: carries.get(id).cloned().unwrap_or_default(),
            };
            match (facts.card, facts.device) {
                (0, 0) => described.node.primary = Some(interface),
                _ => described.node.secondary.push(interface),
            }
        }
        Ok(described)
    }

    /// Keeps what is known of the interfaces, and forgets those that are gone.
    async fn keep(&self, facts: &BTreeMap<String, InterfaceFacts>) -> Result<(), String> {
        let object = |(id, facts): (&String, &InterfaceFacts)| {
            let attributes = facts.attributes()?;
            Some(Object { kind: INTERFACE.to_owned(), name: id.clone(), attributes })
        };
        let objects: Vec<Object> = facts.iter().filter_map(object).collect();
        let before = self.engine.objects();
        let gone = before.iter().filter(|object| object.kind == INTERFACE);
        let gone = gone.filter(|object| !facts.contains_key(&object.name));
        let gone: Vec<_> = gone.map(|object| (object.kind.clone(), object.name.clone())).collect();
        self.engine.objects_seen(&objects, &gone).await.map_err(|error| error.to_string())
    }
}

impl InterfaceFacts {
    fn attributes(&self) -> Option<Attributes> {
        let pairs = [
            (MAC, self.mac.to_string()),
            (CARD, self.card.to_string()),
            (DEVICE, self.device.to_string()),
            (ADDRESS, self.address.to_string()),
        ];
        // None of these texts is too long, so this cannot fail.
        Attributes::new(pairs).ok()
    }

    fn from_attributes(attributes: &Attributes) -> Option<Self> {
        Some(Self {
            mac: attributes.get(MAC)?.parse().ok()?,
            card: attributes.get(CARD)?.parse().ok()?,
            device: attributes.get(DEVICE)?.parse().ok()?,
            address: attributes.get(ADDRESS)?.parse().ok()?,
        })
    }
}

/// Lists the ledger's ranges of each interface.
fn carried(book: &Book) -> BTreeMap<String, Vec<IpNet>> {
    let mut carried: BTreeMap<String, Vec<IpNet>> = BTreeMap::new();
    for index in 0..book.pools().len() {
        for view in book.ranges(index) {
            if let Some((interface, net)) = ranges::carried(view.range) {
                carried.entry(interface.to_owned()).or_default().push(net);
            }
        }
    }
    carried
}

fn kept<'a>(objects: impl Iterator<Item = &'a Object>) -> BTreeMap<String, InterfaceFacts> {
    let interfaces = objects.filter(|object| object.kind == INTERFACE);
    interfaces
        .filter_map(|object| {
            Some((object.name.clone(), InterfaceFacts::from_attributes(&object.attributes)?))
        })
        .collect()
}

/// Returns EC2's account of the interfaces that it has described completely.
fn said(status: &Status) -> BTreeMap<String, InterfaceFacts> {
    let facts = status.interfaces.iter().filter_map(|interface| {
        let address = interface.address?;
        let subnet = status.subnets.iter().find(|subnet| subnet.id == interface.subnet)?;
        let range = subnet.ranges.iter().find(|range| range.contains(&address))?;
        let facts = InterfaceFacts {
            mac: interface.mac.as_ref()?.parse().ok()?,
            card: interface.card?,
            device: interface.device?,
            address: IpNet::new(address, range.prefix_len()).ok()?,
        };
        Some((interface.id.clone(), facts))
    });
    facts.collect()
}

/// The name of the link with a hardware address. What is built on a link, such as a VLAN, has the same one and a longer name.
fn link(links: &[KernelLink], mac: Mac) -> Option<&str> {
    let with = links.iter().filter(|link| link.mac == Some(mac));
    with.map(|link| link.name.as_str()).min_by_key(|name| (name.len(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Mac = Mac([2, 0, 0, 0, 0, 1]);

    fn named(name: &str, mac: Option<Mac>) -> KernelLink {
        KernelLink { name: name.to_owned(), index: 1, mac, mtu: 1500, up: true, peer: None, alias: None }
    }

    #[test]
    fn an_interface_is_found_by_its_hardware_address_and_not_what_is_built_on_it() {
        let links = [
            named("lo", None),
            named("ens6.100", Some(FIRST)),
            named("ens6", Some(FIRST)),
            named("ens5", Some(Mac([2, 0, 0, 0, 0, 2]))),
        ];
        assert_eq!(link(&links, FIRST), Some("ens6"));
        assert_eq!(link(&links, Mac([2, 0, 0, 0, 0, 3])), None);
    }

    #[test]
    fn an_interface_is_kept_as_it_was_said() {
        let facts =
            InterfaceFacts { mac: FIRST, card: 0, device: 2, address: "10.0.0.9/24".parse().unwrap() };
        let object = |kind: &str, attributes: Attributes| Object {
            kind: kind.to_owned(),
            name: "eni-1".to_owned(),
            attributes,
        };
        let attributes = facts.attributes().unwrap();
        let objects = [object("instance", attributes.clone()), object(INTERFACE, attributes)];
        assert_eq!(kept(objects.iter()), BTreeMap::from([("eni-1".to_owned(), facts)]));
        let partial = object(INTERFACE, Attributes::new([(MAC, "02:00:00:00:00:01")]).unwrap());
        assert_eq!(kept([partial].iter()), BTreeMap::new());
    }
}
