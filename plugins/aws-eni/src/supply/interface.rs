//! A network interface and the ranges on it.

use super::RangeUnit;

/// The purpose of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterfaceDuty {
    /// Pods get addresses of it.
    Serving,
    /// The interface serves the pods that it has, and no new ones: its subnet is excluded, or it is the primary interface of a
    /// node with a custom network.
    Retired,
    /// Nothing is changed about it: somebody else manages it, or the host does not show it.
    Foreign,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInterface {
    /// The interface's name, such as `eni-0123`.
    pub name: String,
    /// The subnet that it is in, if that is known.
    pub subnet: Option<String>,
    /// The interface's purpose.
    pub duty: InterfaceDuty,
    /// Whether it is the instance's primary interface, which cannot be detached.
    pub is_primary: bool,
    /// Whether it is being detached.
    pub is_leaving: bool,
    /// Whether ranges of another pool are on it.
    pub has_others: bool,
    /// Seconds since it was attached.
    pub age: u32,
    /// How many addresses or prefixes still fit, without those that have been requested.
    pub slots: u32,
    /// How many more fit if EC2 no longer has what it has ceased to show.
    pub doubtful_slots: u32,
    /// Whether addresses or prefixes have been requested for it.
    pub is_growing: bool,
    /// The ranges of this pool on it.
    pub runs: Vec<RangeRun>,
}

/// A range of a pool on an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeRun {
    /// The range's name.
    pub name: String,
    /// Whether it is a prefix or a single address.
    pub unit: RangeUnit,
    /// The number of its addresses.
    pub total: u32,
    /// The range's held addresses.
    pub held: u32,
    /// The range's cooling addresses.
    pub cooling: u32,
    /// Whether it hands out addresses.
    pub is_open: bool,
    /// Whether it is being released.
    pub is_leaving: bool,
    /// Seconds since it was used; 0 if that is not known.
    pub idle: u32,
}

impl NodeInterface {
    /// Whether pods get addresses of a range on it.
    #[must_use]
    pub fn hands_out(&self, run: &RangeRun) -> bool {
        self.duty != InterfaceDuty::Retired && !self.is_leaving && run.is_open && !run.is_leaving
    }

    /// Whether more can be assigned to it.
    #[must_use]
    pub fn takes_more(&self) -> bool {
        self.duty == InterfaceDuty::Serving && !self.is_leaving
    }

    /// Whether it may be detached once its ranges are unused.
    #[must_use]
    pub fn is_removable(&self, least_age: u32) -> bool {
        let is_busy = self.is_primary || self.is_leaving || self.is_growing || self.has_others;
        self.duty != InterfaceDuty::Foreign && !is_busy && self.age >= least_age
    }

    /// How many of its addresses are held or cooling.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.runs.iter().map(|run| run.held.saturating_add(run.cooling)).fold(0, u32::saturating_add)
    }
}

impl RangeRun {
    /// Whether no address is held or cooling.
    #[must_use]
    pub fn is_unused(&self) -> bool {
        self.held == 0 && self.cooling == 0
    }

    /// The range's free addresses.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.total.saturating_sub(self.held).saturating_sub(self.cooling)
    }
}
