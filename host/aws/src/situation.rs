//! The situation of a node: all that plans, checks and reconciliation depend on besides the ledger, at one moment.
//!
//! A copy, so that nothing is locked while a policy thinks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tenure_ledger::{Book, Intent, RangeView};
use tenure_types::{EffectKind, Pool};

use crate::budget::{Budget, Unit};
use crate::names;
use crate::port::{Ec2Interface, Ec2Subnet, InstanceLimits, Status};
use crate::ranges::carried;
use crate::seen::{Duty, SeenInterface, SeenNode, SeenStanding};
use crate::settings::Ec2Settings;

/// The subnet and the groups of interfaces in a custom network, from the node's ENIConfig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomNetwork {
    /// The subnet.
    pub subnet: String,
    /// The security groups; if empty, those of the primary interface.
    pub groups: Vec<String>,
}

/// Facts about the node from the rest of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeFacts {
    /// Subnet and groups for interfaces of a custom network; `None` while unknown.
    pub custom: Option<CustomNetwork>,
    /// Whether pods may be scheduled to the node, if that is known.
    pub schedulable: Option<bool>,
    /// Whether the instance is about to end.
    pub terminating: bool,
    /// The most pods, if the node says.
    pub most_pods: Option<u32>,
    /// The instance's type, such as `m5.large`, if that is known.
    pub instance_type: Option<String>,
    /// The node's labels, by name.
    pub labels: BTreeMap<String, String>,
}

/// A call that is not made for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Barred {
    /// The call.
    pub call: &'static str,
    /// The subnet, if only that is wrong.
    pub subnet: Option<String>,
    /// EC2's code.
    pub code: String,
    /// EC2's code and words.
    pub why: String,
    /// For how long.
    pub left: Duration,
}

impl Barred {
    /// The calls that a budget does not allow at a time.
    pub(crate) fn all(budget: &Budget, now: Duration) -> Vec<Self> {
        let barred = budget.blocked_calls(now).map(|(call, subnet, blocked)| Self {
            call,
            subnet: subnet.map(str::to_owned),
            code: blocked.code.clone(),
            why: blocked.why.clone(),
            left: blocked.until.saturating_sub(now),
        });
        barred.collect()
    }
}

/// The situation of a node.
#[derive(Debug, Clone)]
pub struct Situation {
    /// The boot clock's reading.
    pub now: Duration,
    /// The wall clock, in seconds since 1970.
    pub wall: u64,
    /// EC2's account of the node.
    pub seen: SeenNode,
    /// The subnets of the zone.
    pub subnets: Vec<Ec2Subnet>,
    /// Limits of the instance type; `None` while unknown.
    pub limits: Option<InstanceLimits>,
    /// The settings.
    pub settings: Ec2Settings,
    /// Facts about the node from the rest of the daemon.
    pub node: NodeFacts,
    /// The open intents of the network.
    pub open: Vec<Arc<Intent>>,
    /// For how long subnets should not be asked for more.
    pub backoffs: BTreeMap<(String, Unit), Duration>,
    /// The calls that are not made.
    pub barred: Vec<Barred>,
    /// For how long unused ranges have been unused, by name.
    pub idle: BTreeMap<String, Duration>,
    /// The fewest addresses of each pool that the node keeps under any policy.
    pub floor: u32,
    /// How long until EC2 is asked again what the subnets have.
    pub subnets_in: Duration,
    /// Whether EC2 refuses another interface although the type has room for more than it shows.
    pub is_hiding: bool,
    /// Whether the network was redefined since the ledger's supply was compared with what EC2 shows.
    pub is_redefined: bool,
}

impl Situation {
    /// Knows what was seen, and nothing else.
    #[must_use]
    pub fn new(seen: SeenNode) -> Self {
        Self {
            now: Duration::ZERO,
            wall: 0,
            seen,
            subnets: Vec::new(),
            limits: None,
            settings: Ec2Settings::default(),
            node: NodeFacts::default(),
            open: Vec::new(),
            backoffs: BTreeMap::new(),
            barred: Vec::new(),
            idle: BTreeMap::new(),
            floor: 1,
            subnets_in: Duration::ZERO,
            is_hiding: false,
            is_redefined: false,
        }
    }

    /// A subnet by its id.
    #[must_use]
    pub fn subnet(&self, id: &str) -> Option<&Ec2Subnet> {
        self.subnets.iter().find(|subnet| subnet.id == id)
    }

    /// Whether pods are kept out of a subnet.
    #[must_use]
    pub fn is_excluded(&self, subnet: &Ec2Subnet) -> bool {
        self.settings.discover_subnets && subnet.tags.get(names::ROLE_TAG).is_some_and(|role| role == "0")
    }

    /// Whether an interface may be created in a subnet.
    #[must_use]
    pub fn is_candidate(&self, subnet: &Ec2Subnet) -> bool {
        if self.settings.custom_network {
            return self.node.custom.as_ref().is_some_and(|custom| custom.subnet == subnet.id);
        }
        let is_primary = self.seen.primary().is_some_and(|primary| primary.subnet == subnet.id);
        if !self.settings.discover_subnets || self.is_excluded(subnet) {
            return is_primary && !self.is_excluded(subnet);
        }
        let role = subnet.tags.get(names::ROLE_TAG);
        is_primary && role.is_none() || role.is_some() && self.is_for_cluster(subnet)
    }

    /// Whether a tagged subnet is for this cluster, or for all.
    fn is_for_cluster(&self, subnet: &Ec2Subnet) -> bool {
        let Some(cluster) = &self.settings.cluster else { return true };
        let mut clusters =
            subnet.tags.keys().filter_map(|name| name.strip_prefix(names::CLUSTERS_TAG)).peekable();
        clusters.peek().is_none() || clusters.any(|name| name == cluster)
    }

    /// Whether an interface serves no new pods: its subnet is excluded, it is the primary one of a custom network, or it is somebody else's.
    #[must_use]
    pub fn is_retired(&self, interface: &Ec2Interface) -> bool {
        let in_excluded = self.subnet(&interface.subnet).is_some_and(|subnet| self.is_excluded(subnet));
        in_excluded
            || match self.seen.duty(interface) {
                Duty::Primary => self.settings.custom_network,
                Duty::Managed => false,
                Duty::Foreign(_) => true,
            }
    }

    /// The open intents that change an interface, or made it.
    pub fn open_on(&self, interface: &str) -> impl Iterator<Item = &Arc<Intent>> {
        let is_on = move |intent: &&Arc<Intent>| {
            [&intent.attributes, &intent.reached]
                .iter()
                .any(|attributes| attributes.get(names::INTERFACE) == Some(interface))
        };
        self.open.iter().filter(is_on)
    }

    /// Whether an open intent is about to bring an interface.
    #[must_use]
    pub fn is_coming(&self, interface: &str) -> bool {
        self.open_on(interface).any(|intent| intent.kind == EffectKind::AttachInterface)
    }

    /// Whether an open intent is about to bring addresses or prefixes to an interface.
    #[must_use]
    pub fn is_growing(&self, interface: &str) -> bool {
        let grows = [EffectKind::AttachInterface, EffectKind::AssignAddress, EffectKind::AssignPrefix];
        self.open_on(interface).any(|intent| grows.contains(&intent.kind))
    }

    /// How many interfaces the node has on network card 0, without those that are coming.
    #[must_use]
    pub fn attached(&self) -> u32 {
        let on_card = |interface: &&Ec2Interface| {
            interface.attachment.as_ref().is_none_or(|attachment| attachment.card == 0)
        };
        let shown = self.seen.interfaces().filter(|(id, _)| !self.is_coming(id));
        let facts = shown.filter_map(|(_, known)| known.facts.as_ref()).filter(on_card);
        u32::try_from(facts.count()).unwrap_or(u32::MAX)
    }

    /// How many more interfaces fit, before what is coming.
    #[must_use]
    pub fn interfaces_free(&self) -> u32 {
        self.limits.map_or(0, |limits| limits.interfaces.saturating_sub(self.attached()))
    }

    /// Whether another interface fits, or another IPv4 address or prefix on one that is there for sure.
    #[must_use]
    pub fn has_room(&self) -> bool {
        let has_slot = |(id, known): (&str, &SeenInterface)| {
            let is_managed = known.facts.as_ref().is_some_and(|facts| self.seen.duty(facts).is_managed());
            let used = known.carries.keys().filter(|net| net.addr().is_ipv4()).count();
            let is_sure = self.seen.standing(id) == Some(SeenStanding::Confirmed);
            is_managed && is_sure && u32::try_from(used).is_ok_and(|used| used < self.slots(true))
        };
        self.interfaces_free() > 0 || self.seen.interfaces().any(has_slot)
    }

    /// How many interfaces are coming.
    #[must_use]
    pub fn interfaces_coming(&self) -> u32 {
        let coming = self.open.iter().filter(|intent| intent.kind == EffectKind::AttachInterface);
        u32::try_from(coming.count()).unwrap_or(u32::MAX)
    }

    /// How many addresses or prefixes fit on an interface in a family; its own address of IPv4 takes one.
    #[must_use]
    pub fn slots(&self, is_ipv4: bool) -> u32 {
        let of = |limits: InstanceLimits| {
            if is_ipv4 { limits.addresses.saturating_sub(1) } else { limits.ipv6_addresses }
        };
        self.limits.map_or(0, of)
    }

    /// How many more fit on an interface of which the ledger has these ranges, before what is coming.
    #[must_use]
    pub fn slots_free(&self, interface: &str, is_ipv4: bool, own: &BTreeSet<IpNet>) -> u32 {
        let Some(known) = self.seen.get(interface) else { return 0 };
        let is_growing = self.is_growing(interface);
        // What an open intent is about to bring may be visible already; the plan counts it as coming.
        let is_counted = |net: &&IpNet| !is_growing || own.contains(net);
        let family = known.carries.keys().filter(|net| net.addr().is_ipv4() == is_ipv4);
        let used = u32::try_from(family.filter(is_counted).count()).unwrap_or(u32::MAX);
        self.slots(is_ipv4).saturating_sub(used)
    }

    /// How many slots of an interface of this host may be taken or free: all, while EC2 does not show it for sure, and otherwise those of what it
    /// has shown, shows no longer, and the ledger never had.
    #[must_use]
    pub fn slots_doubtful(&self, interface: &str, is_ipv4: bool, own: &BTreeSet<IpNet>) -> u32 {
        let Some(known) = self.seen.get(interface) else { return 0 };
        let Some(facts) = known.facts.as_ref().filter(|facts| self.seen.duty(facts).is_managed()) else {
            return 0;
        };
        let is_sure = self.seen.standing(interface) == Some(SeenStanding::Confirmed);
        if !is_sure || facts.status != Status::InUse {
            return self.slots(is_ipv4);
        }
        let is_doubtful = |net: &&IpNet| {
            net.addr().is_ipv4() == is_ipv4
                && !own.contains(net)
                && self.seen.standing_of(interface, **net) != Some(SeenStanding::Confirmed)
        };
        u32::try_from(known.carries.keys().filter(is_doubtful).count()).unwrap_or(u32::MAX)
    }

    /// Lists the ranges of an interface that are in the ledger.
    #[must_use]
    pub fn ledger_of(&self, interface: &str, book: &Book) -> BTreeSet<IpNet> {
        let own =
            ranges(book).filter(|(_, view)| view.range.attributes().get(names::INTERFACE) == Some(interface));
        own.filter_map(|(_, view)| crate::ranges::net_of(view.range)).collect()
    }

    /// Why a call is not made at present.
    #[must_use]
    pub fn barred(&self, call: &str, subnet: &str) -> Option<&Barred> {
        let is_it = |barred: &&Barred| {
            barred.call == call && barred.subnet.as_ref().is_none_or(|barred| barred == subnet)
        };
        self.barred.iter().find(is_it)
    }

    /// For how long a subnet should not be asked for more.
    #[must_use]
    pub fn backoff(&self, subnet: &str, unit: Unit) -> Duration {
        self.backoffs.get(&(subnet.to_owned(), unit)).copied().unwrap_or_default()
    }
}

/// The ranges in the ledger, by interface.
pub(crate) fn ledger_by_interface(book: &Book) -> BTreeMap<&str, BTreeSet<IpNet>> {
    let mut all = BTreeMap::<&str, BTreeSet<IpNet>>::new();
    for (interface, net) in ranges(book).filter_map(|(_, view)| carried(view.range)) {
        all.entry(interface).or_default().insert(net);
    }
    all
}

/// All ranges of a book, each with its pool.
pub(crate) fn ranges(book: &Book) -> impl Iterator<Item = (&Pool, RangeView<'_>)> {
    let pools = book.pools().iter().enumerate();
    pools.flat_map(|(index, pool)| book.ranges(index).map(move |view| (pool, view)))
}
