//! The ranges of one pool, and the usage of its shelves.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use tenure_types::{Range, RangeName, Source};

use super::shelf::Usage;
use crate::books::shared_map::{SharedMap, SharedSet};

/// The usage of a range, as counted by the book.
#[derive(Debug, Default)]
pub(crate) struct InUse {
    /// The number of held addresses, and how many of those are reserved now.
    pub(crate) held: u64,
    pub(crate) reserved: u64,
    /// The cooling addresses, with their places in the queue.
    pub(crate) cooling: Vec<(u64, IpAddr)>,
}

/// A range and its usage.
#[derive(Debug, Clone)]
pub(super) struct Stocked {
    /// Number of the range in the pool.
    pub(super) number: u64,
    pub(super) range: Range,
    /// Shared with each address handed out from the range.
    pub(super) source: Arc<Source>,
    pub(super) draining: bool,
    /// The number of addresses that can be handed out.
    pub(super) size: u128,
    pub(super) held: u64,
    pub(super) cooling: u64,
    /// Held and cooling addresses that are not reserved. The range is full when this reaches `size`.
    pub(super) filled: u128,
}

/// The state of a shelf: the ranges of a pool, or those with an attribute, that are not draining.
#[derive(Debug, Clone, Default)]
pub(super) struct Stand {
    ranges: usize,
    pub(super) total: u128,
    held: u64,
    pub(super) cooling: SharedMap<u64, IpAddr>,
    /// The numbers of the ranges that are not full.
    pub(super) open: SharedSet<u64>,
    pub(super) last: Option<IpAddr>,
}

/// The ranges of one pool.
#[derive(Debug, Clone, Default)]
pub(super) struct Shelves {
    /// By number, which is the order in which they are used.
    pub(super) ranges: SharedMap<u64, Stocked>,
    pub(super) names: SharedMap<RangeName, u64>,
    pub(super) next: u64,
    pub(super) whole: Stand,
    pub(super) labelled: BTreeMap<Box<str>, BTreeMap<Box<str>, Stand>>,
}

/// A change of an address's state.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Hold,
    /// Nobody gets it: it counts as held, but was not handed out.
    Bar,
    LetGo,
    /// With its place in the cooling queue.
    Cool(u64),
    Warm(u64),
}

impl Shelves {
    /// Calls `with` for each stand of a range, creating stands as necessary.
    pub(super) fn each_of(&mut self, range: &Range, mut with: impl FnMut(&mut Stand)) {
        with(&mut self.whole);
        for (name, value) in range.attributes().iter() {
            let values = self.labelled.entry(name.into()).or_default();
            with(values.entry(value.into()).or_default());
        }
    }

    /// Removes a range from its stands. A label without ranges is dropped, together with its last address.
    pub(super) fn leave(&mut self, stocked: &Stocked, in_use: &InUse) {
        self.each_of(&stocked.range, |stand| stand.leave(stocked, in_use));
        for (name, value) in stocked.range.attributes().iter() {
            let Some(values) = self.labelled.get_mut(name) else { continue };
            if values.get(value).is_some_and(|stand| stand.ranges == 0) {
                values.remove(value);
            }
            if values.is_empty() {
                self.labelled.remove(name);
            }
        }
    }
}

/// A sum of ranges' usage.
#[derive(Debug, Default)]
pub(super) struct UsageSum {
    total: u128,
    held: u64,
    cooling: u64,
}

impl UsageSum {
    pub(super) fn add(&mut self, stocked: &Stocked) {
        self.total = self.total.saturating_add(stocked.size);
        self.held += stocked.held;
        self.cooling += stocked.cooling;
    }

    pub(super) fn usage(&self) -> Usage {
        let capped = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Usage {
            total: u32::try_from(self.total).unwrap_or(u32::MAX),
            held: capped(self.held),
            cooling: capped(self.cooling),
        }
    }
}

impl Stand {
    pub(super) fn usage(&self) -> Usage {
        UsageSum { total: self.total, held: self.held, cooling: self.cooling.len() as u64 }.usage()
    }

    pub(super) fn enter(&mut self, stocked: &Stocked, in_use: &InUse) {
        self.ranges += 1;
        self.total = self.total.saturating_add(stocked.size);
        self.held += stocked.held;
        self.cooling.extend(in_use.cooling.iter().copied());
        if stocked.filled < stocked.size {
            self.open.insert(stocked.number, ());
        }
    }

    pub(super) fn leave(&mut self, stocked: &Stocked, in_use: &InUse) {
        self.ranges = self.ranges.saturating_sub(1);
        self.total = self.total.saturating_sub(stocked.size);
        self.held = self.held.saturating_sub(stocked.held);
        for (order, _) in &in_use.cooling {
            self.cooling.remove(order);
        }
        self.open.remove(&stocked.number);
    }

    pub(super) fn change(&mut self, address: IpAddr, change: Change, number: u64, is_open: bool) {
        match change {
            Change::Hold => {
                self.held += 1;
                self.last = Some(address);
            }
            Change::Bar => self.held += 1,
            Change::LetGo => self.held = self.held.saturating_sub(1),
            Change::Cool(order) => _ = self.cooling.insert(order, address),
            Change::Warm(order) => _ = self.cooling.remove(&order),
        }
        if is_open {
            _ = self.open.insert(number, ());
        } else {
            _ = self.open.remove(&number);
        }
    }
}
