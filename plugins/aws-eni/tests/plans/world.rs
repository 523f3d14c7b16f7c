//! A node with network interfaces: what EC2 would have, as the host passes it to a plan, and what becomes of effects.
//!
//! It checks each effect against what is held and against the limits of the node, whatever the policy says.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use tenure_aws_eni::AwsEni;
use tenure_sdk::{Attributes, Effect, EffectKind, Object, Range, SupplySituation};
use tenure_testkit::{Error, Native, Node};

/// An instance type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Type {
    pub(crate) interfaces: u32,
    pub(crate) slots: u32,
    pub(crate) pods: u32,
}

pub(crate) const T3_SMALL: Type = Type { interfaces: 3, slots: 3, pods: 11 };
/// With prefixes, the usual limit of pods.
pub(crate) const T3_SMALL_PREFIXES: Type = Type { pods: 110, ..T3_SMALL };
pub(crate) const M5_LARGE: Type = Type { interfaces: 3, slots: 9, pods: 29 };
pub(crate) const M5_4XLARGE: Type = Type { interfaces: 8, slots: 29, pods: 234 };
pub(crate) const P3DN: Type = Type { interfaces: 15, slots: 49, pods: 737 };

/// A network interface.
#[derive(Debug, Clone)]
pub(crate) struct Eni {
    pub(crate) name: String,
    pub(crate) device: u32,
    pub(crate) subnet: String,
    pub(crate) attached_at: u64,
    /// The ranges on it, in order: the name, and whether it is a prefix.
    pub(crate) ranges: Vec<(String, bool)>,
    pub(crate) attributes: Attributes,
}

/// A subnet of the zone.
#[derive(Debug, Clone)]
pub(crate) struct SupplySubnet {
    pub(crate) name: String,
    pub(crate) attributes: Attributes,
}

/// A node.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) node: Node<Native<AwsEni>>,
    pub(crate) of: Type,
    pub(crate) enis: Vec<Eni>,
    pub(crate) subnets: Vec<SupplySubnet>,
    pub(crate) waiting: u32,
    pub(crate) pending: Vec<Effect>,
    pub(crate) attributes: Attributes,
    /// Seconds.
    pub(crate) clock: u64,
    unused_since: BTreeMap<String, u64>,
    attached: u32,
    assigned: u32,
    pods: u32,
}

impl World {
    /// A node with its primary interface, on which nothing is assigned, and which is old enough for anything.
    pub(crate) fn new(of: Type, ipam: &str) -> Self {
        let mut world = Self {
            node: tenure_testkit::define::<AwsEni>(ipam).unwrap(),
            of,
            enis: Vec::new(),
            subnets: Vec::new(),
            waiting: 0,
            pending: Vec::new(),
            attributes: Attributes::new(),
            clock: 0,
            unused_since: BTreeMap::new(),
            attached: 0,
            assigned: 0,
            pods: 0,
        };
        world.attach("subnet-0");
        world
    }

    /// A node whose interfaces have so many addresses, or prefixes.
    pub(crate) fn with(of: Type, ipam: &str, pool: &[u32], prefixes: bool) -> Self {
        let mut world = Self::new(of, ipam);
        for (index, count) in pool.iter().enumerate() {
            if index > 0 {
                world.attach("subnet-0");
            }
            world.assign(index, *count, prefixes);
        }
        world.clock = 3600;
        world
    }

    pub(crate) fn attach(&mut self, subnet: &str) -> usize {
        let index = self.attached;
        self.attached += 1;
        let used: Vec<u32> = self.enis.iter().map(|eni| eni.device).collect();
        self.enis.push(Eni {
            name: format!("eni-{index}"),
            device: (0..).find(|device| !used.contains(device)).unwrap(),
            subnet: subnet.into(),
            attached_at: self.clock,
            ranges: Vec::new(),
            attributes: Attributes::new(),
        });
        assert!(self.enis.len() <= self.of.interfaces as usize, "more interfaces than the type has");
        self.enis.len() - 1
    }

    /// Assigns addresses or prefixes to an interface, where EC2 would have them: anywhere.
    pub(crate) fn assign(&mut self, eni: usize, count: u32, prefixes: bool) {
        for _ in 0..count {
            self.assigned += 1;
            let assigned = self.assigned;
            let eni = &mut self.enis[eni];
            let first = u32::from(Ipv4Addr::new(10, 0, 0, 0)) + assigned * 16;
            let last = if prefixes { first + 15 } else { first };
            let subnet = "10.0.0.0/8".parse().unwrap();
            let ends = [first, last].map(|end| IpAddr::from(Ipv4Addr::from(end)));
            let name = format!("{}/{}", ends[0], if prefixes { 28 } else { 32 });
            let device = eni.device.to_string();
            let attributes = Attributes::new().with("interface", &eni.name).with("device", device);
            let range = Range { name: name.clone(), attributes, ..Range::new(subnet, ends[0], ends[1]) };
            self.node.supply("ipv4", &range).unwrap();
            eni.ranges.push((name, prefixes));
            assert!(eni.ranges.len() <= self.of.slots as usize, "more than {} has room for", eni.name);
        }
        self.see();
    }

    /// Pods on an interface, in its ranges in order, at most so many in each.
    pub(crate) fn hold(&mut self, eni: usize, count: u32, each: usize) {
        let ranges = self.enis[eni].ranges.clone();
        let free = ranges.iter().flat_map(|(name, _)| self.free(name).into_iter().take(each));
        let free: Vec<IpAddr> = free.take(count as usize).collect();
        assert_eq!(free.len(), count as usize, "there is room for the pods");
        for address in free {
            self.pods += 1;
            assert_eq!(
                self.node.add_requesting(&format!("test/pod-{}", self.pods), &[address]).unwrap(),
                [address]
            );
        }
        self.see();
    }

    /// Cooling addresses on an interface.
    pub(crate) fn cool(&mut self, eni: usize, count: u32) {
        let before = self.pods;
        self.hold(eni, count, usize::MAX);
        for pod in before + 1..=self.pods {
            self.node.del(&format!("test/pod-{pod}")).unwrap();
        }
        self.see();
    }

    /// A prefix of IPv6 on an interface.
    pub(crate) fn assign_ipv6(&mut self, eni: usize) {
        let eni = &self.enis[eni];
        let ends = ["fd00::1:0:0:0", "fd00::1:ffff:ffff:ffff"].map(|end| end.parse().unwrap());
        let attributes =
            Attributes::new().with("interface", &eni.name).with("device", eni.device.to_string());
        let subnet = "fd00::/64".parse().unwrap();
        self.node.supply("ipv6", &Range { attributes, ..Range::new(subnet, ends[0], ends[1]) }).unwrap();
    }

    fn free(&self, range: &str) -> Vec<IpAddr> {
        let book = self.node.book();
        let view = book.ranges(0).find(|view| view.range.name().as_str() == range).unwrap();
        let (IpAddr::V4(first), IpAddr::V4(last)) = (view.range.first(), view.range.last()) else {
            return Vec::new();
        };
        let all = (u32::from(first)..=u32::from(last)).map(|number| IpAddr::from(Ipv4Addr::from(number)));
        all.filter(|address| book.standing(*address) == tenure_ledger::Standing::Free).collect()
    }

    /// Remembers since when each range is unused.
    pub(crate) fn see(&mut self) {
        let views: Vec<(String, bool)> = self
            .node
            .book()
            .ranges(0)
            .map(|view| (view.range.name().as_str().to_owned(), view.held == 0 && view.cooling == 0))
            .collect();
        for (name, is_unused) in views {
            match is_unused {
                true => _ = self.unused_since.entry(name).or_insert(self.clock),
                false => _ = self.unused_since.remove(&name),
            }
        }
    }

    /// What the host passes to a plan.
    pub(crate) fn state(&self) -> SupplySituation {
        let mut objects = Vec::new();
        for eni in &self.enis {
            let free = self.of.slots - u32::try_from(eni.ranges.len()).unwrap();
            let attributes = eni.attributes.clone();
            let attributes =
                attributes.with("primary", (eni.device == 0).to_string()).with("subnet", &eni.subnet);
            let attributes = attributes.with("slots.free", free.to_string()).with("ipv6.slots.free", "1");
            let attributes = attributes.with("age.seconds", (self.clock - eni.attached_at).to_string());
            objects.push(Object { kind: "interface".into(), name: eni.name.clone(), attributes });
        }
        for subnet in &self.subnets {
            let attributes = subnet.attributes.clone();
            objects.push(Object { kind: "subnet".into(), name: subnet.name.clone(), attributes });
        }
        for (name, since) in &self.unused_since {
            let attributes = Attributes::new().with("idle.seconds", (self.clock - since).to_string());
            objects.push(Object { kind: "range".into(), name: name.clone(), attributes });
        }
        let room = self.of.interfaces - u32::try_from(self.enis.len()).unwrap();
        let mut attributes = self.attributes.clone();
        for (name, value) in
            [("interfaces.free", room), ("interfaces.slots", self.of.slots), ("pods.max", self.of.pods)]
        {
            attributes.set(name, value.to_string());
        }
        SupplySituation {
            waiting: vec![(0, self.waiting)],
            objects,
            pending: self.pending.clone(),
            attributes,
        }
    }

    pub(crate) fn plan(&self) -> Result<Vec<Effect>, Error> {
        self.node.plan(&self.state())
    }

    /// Carries out effects, as EC2 would.
    pub(crate) fn apply(&mut self, effects: &[Effect]) {
        for effect in effects {
            let text = |name| effect.attributes.get(name);
            let count = |name| text(name).map(|count| count.parse::<u32>().unwrap());
            let eni =
                text("interface").map(|name| self.enis.iter().position(|eni| eni.name == name).unwrap());
            match effect.kind {
                EffectKind::AssignAddress => self.assign(eni.unwrap(), count("count").unwrap(), false),
                EffectKind::AssignPrefix => self.assign(eni.unwrap(), count("count").unwrap(), true),
                EffectKind::AttachInterface => {
                    let eni = self.attach(text("subnet").unwrap_or("subnet-0"));
                    self.assign(eni, count("addresses").unwrap_or(0), false);
                    self.assign(eni, count("prefixes").unwrap_or(0), true);
                }
                EffectKind::DetachInterface => {
                    let eni = self.enis.remove(eni.unwrap());
                    assert!(eni.device != 0, "the primary interface is detached");
                    assert!(self.clock - eni.attached_at >= 60, "{} is detached too young", eni.name);
                    eni.ranges.iter().for_each(|(range, _)| self.withdraw(range));
                }
                EffectKind::ReleaseAddress | EffectKind::ReleasePrefix => {
                    let range = text("range").unwrap().to_owned();
                    let is_prefix = effect.kind == EffectKind::ReleasePrefix;
                    let eni =
                        self.enis.iter_mut().find(|eni| eni.ranges.contains(&(range.clone(), is_prefix)));
                    eni.unwrap().ranges.retain(|(name, _)| *name != range);
                    self.withdraw(&range);
                }
                _ => panic!("{effect:?}"),
            }
        }
    }

    fn withdraw(&mut self, range: &str) {
        let view = self.node.book().ranges(0).find(|view| view.range.name().as_str() == range).unwrap();
        assert!(view.held == 0, "{range} is given back with {} held addresses", view.held);
        assert!(view.cooling == 0, "{range} is given back with {} cooling addresses", view.cooling);
        self.node.withdraw("ipv4", range).unwrap();
        self.unused_since.remove(range);
    }

    /// The number of ranges on each interface.
    pub(crate) fn pool(&self) -> Vec<usize> {
        self.enis.iter().map(|eni| eni.ranges.len()).collect()
    }
}
