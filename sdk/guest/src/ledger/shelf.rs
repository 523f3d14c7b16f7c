//! The ranges of a pool: their free addresses and their usage.

use std::net::IpAddr;

use super::Usage;
use crate::bindings::tenure::ipam::types;
use crate::convert::{addresses, range};
use crate::host::ledger as host;
use crate::{Range, RangeSet};

/// How many ranges or values are requested from the host at once.
const PIECE: u32 = 256;

/// The direction in which a pool is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the first address to the last.
    Ascending,
    /// From the last address to the first.
    Descending,
}

/// The ranges of a pool: all of them, or those with some labels.
///
/// ```no_run
/// use tenure_sdk::ledger::{Direction, Shelf};
///
/// let blue = Shelf::of(0).labelled("zone", "blue");
/// let highest = blue.free(None, Direction::Descending, 1).first().copied();
/// let is_half_full = blue.usage().held >= blue.usage().total / 2;
/// # let _ = (highest, is_half_full);
/// ```
#[derive(Debug, Clone)]
pub struct Shelf {
    pool: u32,
    labels: Vec<types::Attribute>,
}

impl Shelf {
    /// All ranges of a pool.
    #[must_use]
    pub const fn of(pool: u32) -> Self {
        Self { pool, labels: Vec::new() }
    }

    /// Narrows these ranges to the ones that also have an attribute with this name and value.
    ///
    /// The first label costs nothing; with further ones, the host looks through the ranges that have the first.
    ///
    /// ```no_run
    /// # use tenure_sdk::ledger::Shelf;
    /// let of_web = Shelf::of(0).labelled("zone", "blue").labelled("tier", "web").next_in_turn();
    /// # let _ = of_web;
    /// ```
    #[must_use]
    pub fn labelled(mut self, name: &str, value: &str) -> Self {
        self.labels.push(types::Attribute { name: name.into(), value: value.into() });
        self
    }

    /// Up to `limit` free addresses, starting after `after` and wrapping around once.
    ///
    /// ```no_run
    /// # use tenure_sdk::ledger::{Direction, Shelf};
    /// let shelf = Shelf::of(0);
    /// let lowest = shelf.free(None, Direction::Ascending, 1);
    /// let next_four = shelf.free(shelf.last(), Direction::Ascending, 4);
    /// # let _ = (lowest, next_four);
    /// ```
    #[must_use]
    pub fn free(&self, after: Option<IpAddr>, direction: Direction, limit: u32) -> Vec<IpAddr> {
        let direction = match direction {
            Direction::Ascending => host::Direction::Ascending,
            Direction::Descending => host::Direction::Descending,
        };
        let after = after.map(|address| address.to_string());
        addresses(&host::free(self.pool, &self.labels, after.as_deref(), &direction, limit))
    }

    /// Up to `limit` addresses that are cooling down, least recently freed first.
    ///
    /// ```no_run
    /// # use tenure_sdk::ledger::Shelf;
    /// let longest_unused = Shelf::of(0).cooling(1).first().copied();
    /// # let _ = longest_unused;
    /// ```
    #[must_use]
    pub fn cooling(&self, limit: u32) -> Vec<IpAddr> {
        addresses(&host::cooling(self.pool, &self.labels, limit))
    }

    /// The most recently assigned address.
    #[must_use]
    pub fn last(&self) -> Option<IpAddr> {
        host::last(self.pool, &self.labels)?.parse().ok()
    }

    /// The next free address after the most recently assigned one; if none is free, the one that has been cooling
    /// down the longest.
    ///
    /// This is host-local's rule: a freed address stays unused for as long as possible.
    ///
    /// ```no_run
    /// # use tenure_sdk::ledger;
    /// let addresses: Vec<_> = ledger::pools().filter_map(|pool| pool.shelf().next_in_turn()).collect();
    /// # let _ = addresses;
    /// ```
    #[must_use]
    pub fn next_in_turn(&self) -> Option<IpAddr> {
        let free = self.free(self.last(), Direction::Ascending, 1).first().copied();
        free.or_else(|| self.cooling(1).first().copied())
    }

    /// How many addresses are in use.
    ///
    /// ```no_run
    /// # use tenure_sdk::ledger::Shelf;
    /// let usage = Shelf::of(0).usage();
    /// let is_half_full = usage.held >= usage.total / 2;
    /// # let _ = is_half_full;
    /// ```
    #[must_use]
    pub fn usage(&self) -> Usage {
        host::usage_of(self.pool, &self.labels)
    }

    /// The ranges with their usage, requested from the host in pieces.
    ///
    /// ```no_run
    /// # use tenure_sdk::ledger::Shelf;
    /// let unused = Shelf::of(0).ranges().filter(|view| view.is_open && view.usage.held == 0).count();
    /// # let _ = unused;
    /// ```
    pub fn ranges(&self) -> impl Iterator<Item = RangeView> + use<> {
        let Self { pool, labels } = self.clone();
        let mut start = Some(0);
        let pieces = std::iter::from_fn(move || {
            let from: u32 = start.take()?;
            let piece = host::ranges(pool, &labels, from, PIECE);
            start = is_full(&piece).then(|| from.saturating_add(PIECE));
            Some(piece)
        });
        pieces.flatten().filter_map(RangeView::new)
    }

    /// Only the ranges, for example to name them in a message.
    #[must_use]
    pub fn range_set(&self) -> RangeSet {
        RangeSet(self.ranges().map(|view| view.range).collect())
    }

    /// The usage of the ranges by the values of a label, requested from the host in pieces.
    ///
    /// ```no_run
    /// # use tenure_sdk::ledger::{Shelf, room};
    /// let interfaces = Shelf::of(0).usage_by("interface");
    /// let fullest = interfaces.filter(|(_, usage)| room(usage) > 0).min_by_key(|(_, usage)| room(usage));
    /// # let _ = fullest;
    /// ```
    pub fn usage_by<'a>(&self, name: &'a str) -> impl Iterator<Item = (String, Usage)> + use<'a> {
        let Self { pool, labels } = self.clone();
        let mut after = Some(None);
        let pieces = std::iter::from_fn(move || {
            let from: Option<String> = after.take()?;
            let piece = host::usage_by(pool, &labels, name, from.as_deref(), PIECE);
            after = piece.last().filter(|_| is_full(&piece)).map(|last| Some(last.value.clone()));
            Some(piece)
        });
        pieces.flatten().map(|usage| (usage.value, usage.usage))
    }
}

/// Whether more may follow a piece. One that is shorter is the last, so that short lists need one call.
fn is_full<T>(piece: &[T]) -> bool {
    u32::try_from(piece.len()).is_ok_and(|length| length >= PIECE)
}

/// The number of addresses that are neither held nor cooling down.
///
/// ```
/// use tenure_sdk::ledger::{Usage, room};
///
/// assert_eq!(room(&Usage { total: 10, held: 6, cooling: 1 }), 3);
/// ```
#[must_use]
pub fn room(usage: &Usage) -> u32 {
    usage.total.saturating_sub(usage.held).saturating_sub(usage.cooling)
}

/// A range and its usage.
#[derive(Debug, Clone)]
pub struct RangeView {
    /// The range.
    pub range: Range,
    /// Whether its addresses may be assigned; otherwise it is draining, or in a state that this SDK does not know.
    pub is_open: bool,
    /// How many of its addresses are in use.
    pub usage: Usage,
}

impl RangeView {
    fn new(view: host::RangeView) -> Option<Self> {
        let is_open = matches!(view.state, host::RangeState::Open);
        Some(Self { range: range(view.range)?, is_open, usage: view.usage })
    }
}
