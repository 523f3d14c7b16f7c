//! Effects that earlier plans have requested and EC2 has not confirmed yet: the state does not contain them.

use std::collections::{BTreeMap, BTreeSet};

use tenure_sdk::{Effect, EffectKind, SupplySituation};

use crate::names::{ADDRESSES, COUNT, INTERFACES, PREFIXES, RANGE};

/// The pending effects, as far as a pool is concerned.
#[derive(Debug, Default)]
pub(super) struct PendingRanges<'a> {
    /// How many slots of an interface are taken.
    pub(super) slots: BTreeMap<&'a str, u32>,
    /// The interfaces that are being detached.
    pub(super) leaving: BTreeSet<&'a str>,
    /// The ranges that are being released.
    pub(super) released: BTreeSet<&'a str>,
    /// How many interfaces are being attached.
    pub(super) interfaces: u32,
    /// How many slots of those are taken.
    pub(super) interface_slots: u32,
    /// How many single addresses are coming.
    pub(super) addresses: u32,
    /// How many prefixes are coming.
    pub(super) prefixes: u32,
}

impl<'a> PendingRanges<'a> {
    pub(super) fn of(state: &'a SupplySituation, pool: u32) -> Self {
        let mut pending = Self::default();
        for effect in &state.pending {
            pending.add(effect, effect.pool == pool);
        }
        pending
    }

    fn add(&mut self, effect: &'a Effect, is_ours: bool) {
        let interface = effect.attributes.get(INTERFACES).unwrap_or_default();
        let number =
            |name| effect.attributes.get(name).and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
        let (addresses, prefixes) = match effect.kind {
            EffectKind::AssignAddress if is_ours => (number(COUNT), 0),
            EffectKind::AssignPrefix if is_ours => (0, number(COUNT)),
            EffectKind::AttachInterface => {
                self.interfaces = self.interfaces.saturating_add(1);
                if is_ours { (number(ADDRESSES), number(PREFIXES)) } else { (0, 0) }
            }
            EffectKind::DetachInterface => {
                self.leaving.insert(interface);
                (0, 0)
            }
            EffectKind::ReleaseAddress | EffectKind::ReleasePrefix if is_ours => {
                self.released.extend(effect.attributes.get(RANGE));
                (0, 0)
            }
            _ => (0, 0),
        };
        self.addresses = self.addresses.saturating_add(addresses);
        self.prefixes = self.prefixes.saturating_add(prefixes);
        if effect.kind == EffectKind::AttachInterface {
            let slots = addresses.saturating_add(prefixes);
            self.interface_slots = self.interface_slots.saturating_add(slots);
        } else if addresses > 0 || prefixes > 0 {
            let slots = self.slots.entry(interface).or_default();
            *slots = slots.saturating_add(addresses).saturating_add(prefixes);
        }
    }
}
