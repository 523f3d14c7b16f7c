//! The rule by which a pool is filled: the kind of range, and the target.

use crate::names::IPV6;
use crate::settings::{AwsSettings, InForce, WarmTarget};
use crate::supply::{PoolCounts, PoolSupply, RangeUnit};

/// The rule of a pool.
#[derive(Debug)]
pub(super) struct PoolRule<'a> {
    /// The number of addresses that should be free.
    pub(super) target: WarmTarget,
    /// The kind of range to assign.
    pub(super) unit: RangeUnit,
    /// The addresses that a target counts in: those of a prefix, or of a whole interface.
    grain: u32,
    /// Whether single addresses are assigned where there are no prefixes.
    pub(super) has_fallback: bool,
    /// Whether unused ranges of this kind are ever given back.
    pub(super) gives_back: bool,
    /// Whether interfaces are detached for this pool.
    pub(super) detaches: bool,
    /// How long something must have been unused, in seconds.
    pub(super) idle: u32,
    /// Which entry of the settings the target is from, for people.
    entry: Option<&'a str>,
}

impl<'a> PoolRule<'a> {
    pub(super) fn of(
        settings: &AwsSettings,
        in_force: &'a InForce,
        supply: &PoolSupply,
        pool: &str,
        has_prefixes: bool,
    ) -> Self {
        if pool == IPV6 {
            // One /80 is more than a node's pods can use. It stays for as long as the node does.
            let (target, grain) = (WarmTarget::Prefixes(0), supply.prefix_size);
            let detaches = !settings.ipv4;
            let unit = RangeUnit::Prefix;
            return Self {
                target,
                unit,
                grain,
                has_fallback: false,
                gives_back: false,
                detaches,
                idle: settings.idle,
                entry: None,
            };
        }
        let prefixes = settings.prefixes && has_prefixes;
        let (unit, grain) = match prefixes {
            true => (RangeUnit::Prefix, supply.prefix_size),
            false => (RangeUnit::Address, supply.new_slots),
        };
        Self {
            target: in_force.warm.target(prefixes),
            unit,
            grain,
            has_fallback: prefixes && settings.fallback,
            gives_back: true,
            detaches: true,
            idle: settings.idle,
            entry: in_force.words.as_deref(),
        }
    }

    /// How many addresses are wanted beyond these; the largest number for whole interfaces.
    pub(super) fn wanted(&self, counts: &PoolCounts) -> u32 {
        counts.wanted(self.target, self.grain)
    }

    /// Whether ipamd would give back a whole interface: one more than the target is free.
    pub(super) fn has_an_interface_too_many(&self, counts: &PoolCounts) -> bool {
        let WarmTarget::Interfaces(interfaces) = self.target else { return true };
        counts.free >= interfaces.saturating_add(1).saturating_mul(self.grain).saturating_add(counts.waiting)
    }

    /// Whether these counts are still enough after something unused has gone.
    pub(super) fn is_kept_by(&self, counts: &PoolCounts) -> bool {
        let promised = match self.target {
            WarmTarget::Prefixes(prefixes) => prefixes,
            WarmTarget::Addresses { .. } | WarmTarget::Interfaces(_) => 0,
        };
        self.wanted(counts) == 0 && counts.empty_prefixes >= promised
    }

    /// The arithmetic, for people.
    pub(super) fn explain(&self, counts: &PoolCounts) -> String {
        let sums = counts.explain(self.target, self.grain);
        match self.entry {
            Some(entry) => format!("{sums}; {entry}"),
            None => sums,
        }
    }
}
