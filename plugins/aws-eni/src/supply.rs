//! A pool's supply as a plan sees it: interfaces, the ranges on them, subnets, and the limits of the node.
//!
//! Pure data and counts. [`look`] fills it in; what is still pending is already accounted for.

mod counts;
mod interface;
mod look;
mod pending;
mod subnet;

use tenure_sdk::Range;

pub use self::counts::Counts;
pub use self::interface::{Duty, Interface, Run};
pub use self::look::look;
pub use self::subnet::Subnet;

/// A kind of range: what an effect assigns and releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A single address.
    Address,
    /// A prefix.
    Prefix,
}

impl Unit {
    /// The kind of a range.
    #[must_use]
    pub fn of(range: &Range) -> Self {
        if range.first == range.last { Self::Address } else { Self::Prefix }
    }
}

/// A pool's supply.
#[derive(Debug, Clone, Default)]
pub struct Supply {
    /// The interfaces, by name.
    pub interfaces: Vec<Interface>,
    /// The subnets, by name.
    pub subnets: Vec<Subnet>,
    /// How many more interfaces the node may have.
    pub interfaces_room: u32,
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
    /// Single addresses that have been requested from EC2.
    pub coming_addresses: u32,
    /// Prefixes that have been requested from EC2.
    pub coming_prefixes: u32,
}

impl Supply {
    /// The addresses of a range of this kind.
    #[must_use]
    pub fn size(&self, unit: Unit) -> u32 {
        match unit {
            Unit::Address => 1,
            Unit::Prefix => self.prefix_size,
        }
    }

    /// Whether more has been requested from EC2, and has not come yet.
    #[must_use]
    pub fn is_growing(&self) -> bool {
        self.coming_addresses > 0 || self.coming_prefixes > 0
    }

    /// The subnet of this name.
    #[must_use]
    pub fn subnet(&self, name: Option<&str>) -> Option<&Subnet> {
        let name = name?;
        self.subnets.iter().find(|subnet| subnet.name == name)
    }

    /// The usage. Of ranges of the other kind than `only`, and of those that hand out nothing, only what is held
    /// counts.
    #[must_use]
    pub fn counts(&self, only: Option<Unit>) -> Counts {
        let mut counts = Counts { waiting: self.waiting, ..Counts::default() };
        for interface in &self.interfaces {
            for run in &interface.runs {
                let is_counted = only.is_none_or(|unit| unit == run.unit) && interface.hands_out(run);
                counts.add(run, is_counted);
            }
        }
        if only != Some(Unit::Prefix) {
            counts.grow(self.coming_addresses);
        }
        if only != Some(Unit::Address) {
            counts.grow(self.coming_prefixes.saturating_mul(self.prefix_size));
        }
        counts
    }
}
