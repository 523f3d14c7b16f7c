//! Interfaces, ledgers and situations for the tests of this crate.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tenure_ledger::{Book, Defined, Intent, IntentOrigin, LedgerFact};
use tenure_types::{
    Attributes, ContainerId, Cooling, DefinedPool, Definer, Definition, EffectKind, IntentId, InterfaceName,
    Moment, Need, NetworkConfig, NetworkName, Owner, PolicyName, PolicyStamp, Pool, PoolName, Proposal,
    RangeName, Request, RequestContext, Sandbox, Supply,
};

use crate::port::{Attachment, Ec2Interface, Ec2Subnet, InstanceLimits, Status};
use crate::ranges::range_of;
use crate::seen::SeenNode;
use crate::situation::Situation;

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// An interface of `i-1` in `subnet-1` that has been attached for a long time.
pub(crate) fn interface(id: &str, device: u32, carries: &[&str]) -> Ec2Interface {
    Ec2Interface {
        id: id.to_owned(),
        subnet: "subnet-1".to_owned(),
        mac: format!("02:00:00:00:00:{device:02x}"),
        description: String::new(),
        kind: "interface".to_owned(),
        status: Status::InUse,
        attachment: Some(Attachment {
            id: format!("{id}-attach"),
            instance: "i-1".to_owned(),
            card: 0,
            device,
            delete_with_instance: true,
            since: 1000,
        }),
        primary_address: None,
        groups: vec!["sg-1".to_owned()],
        carries: carries.iter().map(|text| net(text)).collect(),
        tags: BTreeMap::new(),
    }
}

/// A subnet with IPv4 and IPv6.
pub(crate) fn subnet(number: u8, tags: &[(&str, &str)]) -> Ec2Subnet {
    Ec2Subnet {
        id: format!("subnet-{number}"),
        ranges: vec![net(&format!("10.0.{}.0/24", number - 1)), net(&format!("2001:db8:0:{number}::/64"))],
        available: 200,
        tags: tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    }
}

/// A node at 1,000 s with these interfaces, which were just described; its type has 3 interfaces of 3 slots.
pub(crate) fn situation(interfaces: &[Ec2Interface]) -> Situation {
    let mut seen = SeenNode::new("i-1", seconds(60), true);
    seen.described(interfaces, seconds(1000));
    let mut situation = Situation::new(seen);
    situation.now = seconds(1000);
    situation.wall = 100_000;
    situation.subnets = vec![subnet(1, &[])];
    situation.limits =
        Some(InstanceLimits { interfaces: 3, addresses: 4, ipv6_addresses: 4, prefixes: true });
    situation
}

/// An open intent.
pub(crate) fn intent(kind: EffectKind, attributes: &[(&str, &str)], reached: &[(&str, &str)]) -> Arc<Intent> {
    let pairs = |pairs: &[(&str, &str)]| Attributes::new(pairs.iter().copied()).unwrap();
    Arc::new(Intent {
        id: IntentId::new("intent-1").unwrap(),
        network: NetworkName::new("pods").unwrap(),
        pool: PoolName::new("ipv4").unwrap(),
        kind,
        attributes: pairs(attributes),
        takes: Vec::new(),
        origin: IntentOrigin::Host,
        since: Moment { boot_ns: 5, wall_ms: 1_767_225_600_000 },
        reached: pairs(reached),
    })
}

fn stamp() -> PolicyStamp {
    PolicyStamp { name: PolicyName::new("aws-eni").unwrap(), digest: "d".into() }
}

/// A network's book with a pool of each family that the host supplies.
pub(crate) struct Ledger {
    pub(crate) book: Book,
    clock: u64,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        let pools = ["ipv4", "ipv6"].map(|name| DefinedPool {
            pool: Pool {
                supply: Supply::Host,
                need: Need::Optional,
                ..Pool::new(PoolName::new(name).unwrap())
            },
            ranges: Vec::new(),
        });
        let definition =
            Definition { pools: pools.into(), cooling: Cooling::Strict, ..Definition::default() };
        let config = Arc::new(NetworkConfig { ipam: "{}".into(), attributes: Vec::new() });
        let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
        let book = Book::defined(&NetworkName::new("pods").unwrap(), defined, Moment::default()).unwrap();
        Self { book, clock: 0 }
    }

    /// The book with the ranges of these interfaces.
    pub(crate) fn of(interfaces: &[Ec2Interface]) -> Self {
        let mut ledger = Self::new();
        for interface in interfaces {
            let device = interface.attachment.as_ref().unwrap().device;
            interface.carries.iter().for_each(|net| ledger.add(*net, &interface.id, device));
        }
        ledger
    }

    pub(crate) fn add(&mut self, of: IpNet, interface: &str, device: u32) {
        let subnet = match of {
            IpNet::V4(_) => net("10.0.0.0/16"),
            IpNet::V6(_) => net("2001:db8::/32"),
        };
        let range = range_of(of, interface, device, subnet).unwrap();
        let pool = pool_of(of);
        let at = self.now();
        self.apply(&self.book.supply(&pool, range, at).unwrap());
    }

    pub(crate) fn drain(&mut self, of: &str) {
        let name = RangeName::new(of).unwrap();
        let at = self.now();
        let fact = self.book.drain(&pool_of(net(of)), &name, true, at).unwrap();
        self.apply(&fact.unwrap());
    }

    pub(crate) fn hold(&mut self, address: &str) {
        let address: IpAddr = address.parse().unwrap();
        let request = Request {
            network: self.book.name().clone(),
            owner: owner(address),
            requested: vec![address],
            sandbox: Sandbox::default(),
            supply_full: false,
            context: RequestContext::default(),
            requested_at: self.now(),
        };
        let pool = usize::from(address.is_ipv6());
        let proposal = Proposal::of([(pool, address)]);
        let at = self.now();
        let admitted = self.book.admit_living(&request, &proposal, &Arc::new(stamp()), at, &[]);
        self.apply(&LedgerFact::Allocated(Arc::new(admitted.unwrap())));
    }

    pub(crate) fn release(&mut self, address: &str) {
        let at = self.now();
        let fact = self.book.release(&owner(address.parse().unwrap()), at, "del").unwrap();
        self.apply(&fact);
    }

    /// An operator puts an address in quarantine.
    pub(crate) fn quarantine(&mut self, address: &str) {
        let at = self.now();
        let fact = self.book.quarantine(address.parse().unwrap(), "a printer answers", at).unwrap();
        self.apply(&fact.unwrap());
    }

    fn apply(&mut self, fact: &LedgerFact) {
        self.book.apply(self.book.through() + 1, fact).unwrap();
    }

    fn now(&mut self) -> Moment {
        self.clock += 1;
        Moment { boot_ns: self.clock, wall_ms: self.clock }
    }
}

fn pool_of(net: IpNet) -> PoolName {
    PoolName::new(if net.addr().is_ipv4() { "ipv4" } else { "ipv6" }).unwrap()
}

fn owner(address: IpAddr) -> Owner {
    let container = format!("c{address}").replace([':', '.'], "-");
    Owner::Attachment {
        container: ContainerId::new(container).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}
