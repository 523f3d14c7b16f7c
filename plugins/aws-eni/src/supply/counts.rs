//! Counts addresses, and the shortage against a target: the formulas of ipamd, with what is cooling and what
//! waits in them.

use super::{RangeRun, RangeUnit};
use crate::settings::WarmTarget;

/// The usage of a pool. Sums stop at the largest number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolCounts {
    /// Addresses that can be handed out or are held: ipamd's total.
    pub total: u32,
    /// Held addresses.
    pub held: u32,
    /// Cooling addresses. Unlike in ipamd, they are not free.
    pub cooling: u32,
    /// Free addresses.
    pub free: u32,
    /// Prefixes without held and cooling addresses.
    pub empty_prefixes: u32,
    /// Requests that wait for an address.
    pub waiting: u32,
}

impl PoolCounts {
    /// Adds a range; only what it holds if it hands out nothing more.
    pub(super) fn add(&mut self, run: &RangeRun, is_counted: bool) {
        self.held = self.held.saturating_add(run.held);
        if !is_counted {
            self.total = self.total.saturating_add(run.held);
            return;
        }
        self.total = self.total.saturating_add(run.total);
        self.cooling = self.cooling.saturating_add(run.cooling);
        self.free = self.free.saturating_add(run.free());
        self.empty_prefixes += u32::from(run.unit == RangeUnit::Prefix && run.is_unused());
    }

    /// Adds free addresses.
    pub fn grow(&mut self, addresses: u32) {
        self.total = self.total.saturating_add(addresses);
        self.free = self.free.saturating_add(addresses);
    }

    /// Returns the counts without an unused range.
    #[must_use]
    pub fn without(mut self, run: &RangeRun) -> Self {
        self.total = self.total.saturating_sub(run.total);
        self.free = self.free.saturating_sub(run.total);
        self.empty_prefixes = self.empty_prefixes.saturating_sub(u32::from(run.unit == RangeUnit::Prefix));
        self
    }

    /// How many addresses are wanted beyond these; [`u32::MAX`] for whole interfaces.
    ///
    /// Nothing is released unless this stays 0 without it, so that what was just assigned is never given back.
    #[must_use]
    pub fn wanted(&self, target: WarmTarget, unit: u32) -> u32 {
        let beyond = |wish: u32| wish.saturating_add(self.waiting).saturating_sub(self.free);
        match target {
            WarmTarget::Addresses { warm, minimum } => beyond(warm).max(minimum.saturating_sub(self.total)),
            WarmTarget::Prefixes(prefixes) => beyond(prefixes.saturating_mul(unit).max(1)),
            WarmTarget::Interfaces(interfaces) => match beyond(interfaces.saturating_mul(unit).max(1)) {
                0 => 0,
                _ => u32::MAX,
            },
        }
    }

    /// How many more addresses the node's pods could use.
    #[must_use]
    pub fn room_for_pods(&self, most_pods: u32) -> u32 {
        let most = most_pods.max(self.held.saturating_add(self.waiting));
        most.saturating_sub(self.total.saturating_sub(self.cooling))
    }

    /// The arithmetic behind [`wanted`](Self::wanted), for people.
    #[must_use]
    pub fn explain(&self, target: WarmTarget, unit: u32) -> String {
        let Self { total, held, cooling, free, waiting, .. } = self;
        let wish = match target {
            WarmTarget::Addresses { warm, minimum } => {
                format!("wanted: {warm} free and {minimum} in total (warm.addresses, warm.minimum)")
            }
            WarmTarget::Prefixes(0) | WarmTarget::Interfaces(0) => "wanted: 1 free".to_owned(),
            WarmTarget::Prefixes(prefixes) => format!("wanted: {prefixes} x {unit} free (warm.prefixes)"),
            WarmTarget::Interfaces(interfaces) => {
                format!("wanted: {interfaces} x {unit} free (warm.interfaces)")
            }
        };
        format!(
            "{wish}, and {waiting} waiting; there are {free} free of {total}, {held} held, {cooling} cooling"
        )
    }
}
