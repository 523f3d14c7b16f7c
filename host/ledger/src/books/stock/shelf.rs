//! The names by which a policy asks for the usage of ranges.

use tenure_types::{Attributes, Range};

/// A pool, or those of its ranges that have given attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shelf<'a> {
    /// The pool's index.
    pub pool: usize,
    /// Name and value of the attribute by which the ranges are found; `None` for the whole pool.
    pub label: Option<(&'a str, &'a str)>,
    /// Further attributes that the ranges must have. They are not indexed: the ranges with `label` are looked through.
    pub further: &'a [(&'a str, &'a str)],
}

impl<'a> Shelf<'a> {
    /// A whole pool.
    #[must_use]
    pub fn whole(pool: usize) -> Self {
        Self { pool, label: None, further: &[] }
    }

    /// The ranges of a pool that have an attribute.
    #[must_use]
    pub fn labelled(pool: usize, name: &'a str, value: &'a str) -> Self {
        Self { pool, label: Some((name, value)), further: &[] }
    }

    /// The ranges of a pool that have all of these attributes.
    #[must_use]
    pub fn of(pool: usize, labels: &'a [(&'a str, &'a str)]) -> Self {
        match labels.split_first() {
            Some((label, further)) => Self { pool, label: Some(*label), further },
            None => Self::whole(pool),
        }
    }

    /// Whether a range of the pool has the attributes.
    #[must_use]
    pub fn has(&self, range: &Range) -> bool {
        has_all(range.attributes(), self.label.as_slice()) && self.has_further(range)
    }

    pub(super) fn has_further(&self, range: &Range) -> bool {
        has_all(range.attributes(), self.further)
    }
}

fn has_all(attributes: &Attributes, labels: &[(&str, &str)]) -> bool {
    labels.iter().all(|(name, value)| attributes.get(name) == Some(*value))
}

/// The usage of a shelf, without draining ranges. Counts saturate at `u32::MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Addresses that can be handed out.
    pub total: u32,
    /// Addresses that have an owner or are in quarantine.
    pub held: u32,
    /// Addresses that are cooling down.
    pub cooling: u32,
}
