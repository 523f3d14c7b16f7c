//! The kernel's view of the node's interfaces: from the ledger, from EC2's account of each, and from the links that are
//! there.
//!
//! What EC2 says of an interface is kept in the checkpoint, so that a daemon that starts while EC2 is silent leads packets as
//! the one before did. An interface that is somebody else's is left alone, unless the ledger has addresses of it, which pods may have.
//!
//! ```text
//! the ledger: which addresses an interface has ───┐
//! EC2, or what was kept: its hardware address ────┼──▶ Node ──▶ the datapath
//! the kernel: which link has that ────────────────┘
//! ```

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use tenure_aws::executor::{InterfaceStatus, Status};
use tenure_aws::ranges;
use tenure_aws::seen::Duty;
use tenure_engine::Engine;
use tenure_ledger::Book;
use tenure_netlink::{CloudInterface, Kernel, KernelLink, Mac, NodeNetwork};
use tenure_types::{Attributes, NetworkName, Object, agreed};

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
            follow(&mut facts, status, &carries);
            self.keep(&facts).await?;
        }
        let vpc = identities::kept(self.engine).map(|identity| identity.ranges).unwrap_or_default();
        let settings = settings(&book.network().attributes, &vpc)?;
        drop(book);
        let mut described =
            Described { node: NodeNetwork { settings, ..NodeNetwork::default() }, is_partial: false };
        let ids: BTreeSet<&String> = facts.keys().chain(carries.keys()).collect();
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

/// Lists the ledger's ranges of each interface, and what pods have of it besides: what is in a range no more, because its pool is defined no
/// more or because EC2 does not show it, keeps its way as long as a pod has it.
fn carried(book: &Book) -> BTreeMap<String, Vec<IpNet>> {
    let mut carried: BTreeMap<String, Vec<IpNet>> = BTreeMap::new();
    for index in 0..book.pools().len() {
        for view in book.ranges(index) {
            if let Some((interface, net)) = ranges::carried(view.range) {
                carried.entry(interface.to_owned()).or_default().push(net);
            }
        }
    }
    let mut single = BTreeSet::new();
    for assigned in book.allocations().flat_map(|allocation| &allocation.addresses) {
        let Some(interface) = assigned.source.range_attributes.get(agreed::INTERFACE) else { continue };
        let is_in_range = carried.values().flatten().any(|net| net.contains(&assigned.ip()));
        if !is_in_range {
            single.insert((interface, assigned.ip()));
        }
    }
    for (interface, address) in single {
        carried.entry(interface.to_owned()).or_default().push(IpNet::from(address));
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

/// Makes facts follow EC2's account. What EC2 does not show is forgotten once it has said what the node has, and what is somebody else's at
/// once; neither is if the ledger has ranges of it.
fn follow(
    facts: &mut BTreeMap<String, InterfaceFacts>,
    status: &Status,
    carries: &BTreeMap<String, Vec<IpNet>>,
) {
    let is_ours = |interface: &&InterfaceStatus| {
        interface.duty.as_ref().is_none_or(Duty::is_managed) || carries.contains_key(&interface.id)
    };
    let ours = || status.interfaces.iter().filter(is_ours);
    facts.extend(ours().filter_map(|interface| Some((interface.id.clone(), said(interface, status)?))));
    facts.retain(|id, _| {
        let is_shown = status.interfaces.iter().any(|interface| interface.id == *id);
        let may_be_attached = !is_shown && status.confirmed.is_none();
        carries.contains_key(id) || may_be_attached || ours().any(|interface| interface.id == *id)
    });
}

/// Returns EC2's account of an interface, if that is complete.
fn said(interface: &InterfaceStatus, status: &Status) -> Option<InterfaceFacts> {
    let address = interface.address?;
    let subnet = status.subnets.iter().find(|subnet| subnet.id == interface.subnet)?;
    let range = subnet.ranges.iter().find(|range| range.contains(&address))?;
    Some(InterfaceFacts {
        mac: interface.mac.as_ref()?.parse().ok()?,
        card: interface.card?,
        device: interface.device?,
        address: IpNet::new(address, range.prefix_len()).ok()?,
    })
}

/// The name of the link with a hardware address. What is built on a link, such as a VLAN, has the same one and a longer name.
fn link(links: &[KernelLink], mac: Mac) -> Option<&str> {
    let with = links.iter().filter(|link| link.mac == Some(mac));
    with.map(|link| link.name.as_str()).min_by_key(|name| (name.len(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;
    use std::time::Duration;

    use tenure_aws::port::Ec2Subnet;
    use tenure_aws::seen::{Evidence, SeenStanding};
    use tenure_ledger::{Defined, LedgerFact};
    use tenure_types::{
        ContainerId, DefinedPool, Definer, Definition, InterfaceName, Moment, Need, NetworkConfig, Owner,
        PolicyName, PolicyStamp, Pool, PoolName, Proposal, RangeName, Request, RequestContext, Sandbox,
        Supply,
    };

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

    fn facts(device: u32) -> (String, InterfaceFacts) {
        let mac = Mac([2, 0, 0, 0, 0, u8::try_from(device).unwrap()]);
        let address = format!("10.0.0.{}/24", device + 4).parse().unwrap();
        (format!("eni-{device}"), InterfaceFacts { mac, card: 0, device, address })
    }

    fn shown(device: u32, duty: Duty) -> InterfaceStatus {
        let (id, facts) = facts(device);
        InterfaceStatus {
            id,
            card: Some(facts.card),
            device: Some(device),
            mac: Some(facts.mac.to_string()),
            address: Some(facts.address.addr()),
            subnet: "subnet-1".to_owned(),
            duty: Some(duty),
            evidence: Evidence::Described,
            confirmed: Duration::from_secs(1),
            standing: SeenStanding::Confirmed,
            carries: Vec::new(),
        }
    }

    /// A status in which EC2 has shown these.
    fn status(interfaces: Vec<InterfaceStatus>) -> Status {
        let ranges = vec!["10.0.0.0/24".parse().unwrap()];
        let subnet =
            Ec2Subnet { id: "subnet-1".to_owned(), ranges, available: 200, tags: BTreeMap::default() };
        let confirmed = Some(Duration::from_secs(1));
        Status { confirmed, interfaces, subnets: vec![subnet], ..Status::default() }
    }

    /// The interfaces that are known afterwards, if those at `before` were kept and the ledger has ranges of those at `carry`.
    fn known(before: &[u32], status: &Status, carry: &[u32]) -> Vec<String> {
        let mut known: BTreeMap<_, _> = before.iter().map(|device| facts(*device)).collect();
        let carries = carry.iter().map(|device| (format!("eni-{device}"), Vec::new())).collect();
        follow(&mut known, status, &carries);
        known.into_keys().collect()
    }

    /// A book with a prefix and a single address on `eni-1`, of each of which a pod has an address.
    fn book() -> Book {
        let name = PoolName::new("ipv4").unwrap();
        let of = Pool { supply: Supply::Host, need: Need::Optional, ..Pool::new(name.clone()) };
        let pools = [DefinedPool { pool: of, ranges: Vec::new() }].into();
        let definition = Definition { pools, ..Definition::default() };
        let config = Arc::new(NetworkConfig { ipam: "{}".into(), attributes: Vec::new() });
        let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
        let network = NetworkName::new("pods").unwrap();
        let mut book = Book::defined(&network, defined, Moment::default()).unwrap();
        let stamp = PolicyStamp { name: PolicyName::new("aws-eni").unwrap(), digest: "d16e57".into() };
        let stamp = Arc::new(stamp);
        for (net, address) in [("10.0.0.16/28", "10.0.0.17"), ("10.0.0.9/32", "10.0.0.9")] {
            let subnet = "10.0.0.0/24".parse().unwrap();
            let range = ranges::range_of(net.parse().unwrap(), "eni-1", 1, subnet).unwrap();
            let added = book.supply(&name, range, Moment::default()).unwrap();
            book.apply(book.through() + 1, &added).unwrap();
            let address: IpAddr = address.parse().unwrap();
            let request = Request {
                network: network.clone(),
                owner: Owner::Attachment {
                    container: ContainerId::new(format!("c-{}", book.through())).unwrap(),
                    interface: InterfaceName::new("eth0").unwrap(),
                },
                requested: vec![address],
                sandbox: Sandbox::default(),
                supply_full: false,
                context: RequestContext::default(),
                requested_at: Moment::default(),
            };
            let proposal = Proposal::of([(0, address)]);
            let held = book.admit_living(&request, &proposal, &stamp, Moment::default(), &[]).unwrap();
            book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(held))).unwrap();
        }
        book
    }

    #[test]
    fn what_pods_have_keeps_its_way_although_its_range_or_its_pool_is_gone() {
        let carries = |book: &Book| {
            let mut nets = carried(book).remove("eni-1").unwrap_or_default();
            nets.sort_unstable();
            nets.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let mut book = book();
        assert_eq!(carries(&book), ["10.0.0.9/32", "10.0.0.16/28"]);
        assert_eq!(carries(&book.without_pools(&[0])), ["10.0.0.9/32", "10.0.0.17/32"]);
        let (pool, range) = (PoolName::new("ipv4").unwrap(), RangeName::new("10.0.0.16/28").unwrap());
        let gone = book.withdraw(&pool, &range, Moment::default()).unwrap().unwrap();
        book.apply(book.through() + 1, &gone).unwrap();
        assert_eq!(carries(&book), ["10.0.0.9/32", "10.0.0.17/32"]);
    }

    fn foreign() -> Duty {
        Duty::Foreign("its tag is true".to_owned())
    }

    #[test]
    fn before_ec2_has_said_what_the_node_has_nothing_is_forgotten() {
        // Such as the primary interface of a custom network, of which the ledger has nothing.
        let ledgers =
            InterfaceStatus { duty: None, mac: None, evidence: Evidence::Ledger, ..shown(1, Duty::Managed) };
        let silent = Status { confirmed: None, ..status(vec![ledgers]) };
        assert_eq!(known(&[0, 1], &silent, &[1]), ["eni-0", "eni-1"]);
        let answered = status(vec![shown(0, Duty::Primary), shown(2, Duty::Managed)]);
        assert_eq!(known(&[0, 1], &answered, &[]), ["eni-0", "eni-2"]);
        assert_eq!(known(&[0, 1], &answered, &[1]), ["eni-0", "eni-1", "eni-2"]);
    }

    #[test]
    fn an_interface_that_is_somebody_elses_is_known_only_while_the_ledger_has_ranges_of_it() {
        let status = status(vec![shown(0, Duty::Primary), shown(1, foreign()), shown(2, foreign())]);
        assert_eq!(known(&[], &status, &[]), ["eni-0"], "it is not kept for the next start");
        assert_eq!(known(&[0, 1], &status, &[]), ["eni-0"], "it was this node's");
        assert_eq!(known(&[0, 1], &status, &[1]), ["eni-0", "eni-1"], "pods may have its addresses");
        assert_eq!(known(&[], &status, &[2]), ["eni-0", "eni-2"]);
    }
}
