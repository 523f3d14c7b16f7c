//! A pool's supply as a plan sees it: interfaces, the ranges on them, subnets, and the limits of the node.
//!
//! Pure data and counts. [`look`] fills it in; what is still pending is already accounted for.

mod counts;
mod interface;
mod look;
mod pending;
mod subnet;

use tenure_sdk::Range;

pub use self::counts::PoolCounts;
pub use self::interface::{InterfaceDuty, NodeInterface, RangeRun};
pub use self::look::look;
pub use self::subnet::SupplySubnet;

/// A kind of range: what an effect assigns and releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeUnit {
    /// A single address.
    Address,
    /// A prefix.
    Prefix,
}

impl RangeUnit {
    /// The kind of a range.
    #[must_use]
    pub fn of(range: &Range) -> Self {
        if range.first == range.last { Self::Address } else { Self::Prefix }
    }
}

/// A pool's supply.
#[derive(Debug, Clone, Default)]
pub struct PoolSupply {
    /// The interfaces, by name.
    pub interfaces: Vec<NodeInterface>,
    /// The subnets, by name.
    pub subnets: Vec<SupplySubnet>,
    /// How many more interfaces the node may have.
    pub interfaces_room: u32,
    /// Whether EC2 refuses another interface although the type has room for more than it shows.
    pub is_hiding: bool,
    /// How many addresses or prefixes fit on a new interface.
    pub new_slots: u32,
    /// The addresses of one prefix.
    pub prefix_size: u32,
    /// The most pods of the node.
    pub most_pods: u32,
    /// Requests that wait.
    pub waiting: u32,
    /// The slots of interfaces on their way that nothing is assigned to yet.
    pub coming_slots: u32,
    /// Single addresses that have been requested from EC2, or that the host is about to adopt.
    pub coming_addresses: u32,
    /// Prefixes that have been requested from EC2, or that the host is about to adopt.
    pub coming_prefixes: u32,
}

impl PoolSupply {
    /// The addresses of a range of this kind.
    #[must_use]
    pub fn size(&self, unit: RangeUnit) -> u32 {
        match unit {
            RangeUnit::Address => 1,
            RangeUnit::Prefix => self.prefix_size,
        }
    }

    /// Whether more has been requested from EC2, and has not come yet.
    #[must_use]
    pub fn is_growing(&self) -> bool {
        self.coming_addresses > 0 || self.coming_prefixes > 0
    }

    /// Whether something has been given back to EC2, and has not gone yet.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        let is_leaving = |interface: &NodeInterface| {
            interface.is_leaving || interface.runs.iter().any(|run| run.is_leaving)
        };
        self.interfaces.iter().any(is_leaving)
    }

    /// Says for people what may have room although it does not seem so: an interface that has addresses in the ledger and that the host does
    /// not vouch for, slots of which EC2 no longer shows what was on them, or an interface that EC2 hides, without which another would fit.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        let is_doubtful = |interface: &&NodeInterface| {
            interface.doubtful_slots > 0
                || interface.duty == InterfaceDuty::Foreign && !interface.runs.is_empty()
        };
        let named = self.interfaces.iter().find(is_doubtful).map(|interface| match interface.duty {
            InterfaceDuty::Foreign => format!("EC2 is asked about {}, which is in doubt", interface.name),
            InterfaceDuty::Serving | InterfaceDuty::Retired => format!(
                "EC2 is asked about {}, of which {} slots are in doubt",
                interface.name, interface.doubtful_slots
            ),
        });
        let hidden =
            || "EC2 refuses another one although it shows fewer than the instance type has".to_owned();
        named.or_else(|| self.is_hiding.then(hidden))
    }

    /// The subnet of this name.
    #[must_use]
    pub fn subnet(&self, name: Option<&str>) -> Option<&SupplySubnet> {
        let name = name?;
        self.subnets.iter().find(|subnet| subnet.name == name)
    }

    /// The usage. Of ranges of the other kind than `only`, and of those that hand out nothing, only what is held
    /// counts.
    #[must_use]
    pub fn counts(&self, only: Option<RangeUnit>) -> PoolCounts {
        let mut counts = PoolCounts { waiting: self.waiting, ..PoolCounts::default() };
        for interface in &self.interfaces {
            for run in &interface.runs {
                let is_counted = only.is_none_or(|unit| unit == run.unit) && interface.hands_out(run);
                counts.add(run, is_counted);
            }
        }
        if only != Some(RangeUnit::Prefix) {
            counts.grow(self.coming_addresses);
        }
        if only != Some(RangeUnit::Address) {
            counts.grow(self.coming_prefixes.saturating_mul(self.prefix_size));
        }
        counts
    }
}
