//! Whether networks are within the operator's bounds, and whether the ranges of exclusive networks overlap others.

use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{Error, ErrorCode, NetworkName, Range, Result};

use super::bounds::Bounds;
use super::slot::Alone;
use crate::core::EngineCore;

impl EngineCore {
    /// Refuses a network whose ranges or policy are out of bounds. A network that passes is checked again only after
    /// the bounds change.
    pub(crate) fn check_within(&self, alone: &Alone<'_>, bounds: &Arc<Bounds>) -> Result<()> {
        let book = {
            let state = alone.state();
            let Some(served) = state.as_ref() else { return Ok(()) };
            if served.within.as_ref().is_some_and(|within| Arc::ptr_eq(within, bounds)) {
                return Ok(());
            }
            Arc::clone(&served.book)
        };
        self.check_book(bounds, &book)?;
        drop(book);
        if let Some(served) = alone.state().as_mut() {
            served.within = Some(Arc::clone(bounds));
        }
        Ok(())
    }

    /// Checks a network's present ranges and policy, with no network's state locked.
    pub(crate) fn check_book(&self, bounds: &Bounds, book: &Book) -> Result<()> {
        let name = book.name();
        if let Some(choice) = self.committer.choice(name) {
            bounds.check_book(&choice.policy.name, book)?;
        }
        // An exclusive network keeps serving; the networks that overlap it do not.
        let ranges = (0..book.pools().len()).flat_map(|pool| book.ranges(pool)).map(|view| view.range);
        self.check_overlap(bounds, name, ranges, |other| bounds.is_exclusive(other))
    }

    /// Refuses ranges that overlap another network's, where either network is exclusive.
    pub(crate) fn check_exclusive<'r>(
        &self,
        name: &NetworkName,
        ranges: impl Iterator<Item = &'r Range>,
    ) -> Result<()> {
        let bounds = self.bounds();
        let counts = |other: &NetworkName| bounds.is_exclusive(name) || bounds.is_exclusive(other);
        self.check_overlap(&bounds, name, ranges, counts)
    }

    /// Refuses ranges that overlap those of another network for which `counts` is true.
    fn check_overlap<'r>(
        &self,
        bounds: &Bounds,
        name: &NetworkName,
        ranges: impl Iterator<Item = &'r Range>,
        counts: impl Fn(&NetworkName) -> bool,
    ) -> Result<()> {
        let ranges: Vec<&Range> = ranges.collect();
        for (other, slot) in self.networks.all() {
            if other == *name || !counts(&other) {
                continue;
            }
            let state = slot.state();
            let Some(served) = state.as_ref() else { continue };
            if let Some((ours, theirs)) = overlap(&ranges, &served.book) {
                let exclusive = if bounds.is_exclusive(&other) { &other } else { name };
                let cause = format_args!(
                    "range {ours} of network {name} overlaps {theirs} of network {other}, and network {exclusive} is exclusive"
                );
                return Err(Error::new(ErrorCode::OutOfBounds, cause));
            }
        }
        Ok(())
    }
}

/// Finds two ranges that share an address.
fn overlap<'r>(ranges: &[&'r Range], book: &Book) -> Option<(&'r Range, String)> {
    let theirs = (0..book.pools().len()).flat_map(|pool| book.ranges(pool));
    for view in theirs {
        if let Some(ours) = ranges.iter().find(|range| range.overlaps(view.range)) {
            return Some((ours, view.range.to_string()));
        }
    }
    None
}
