//! The names by which a policy asks for the usage of ranges.

/// A pool, or those of its ranges that have a given attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shelf<'a> {
    /// The pool's index.
    pub pool: usize,
    /// The attribute's name and value; `None` for the whole pool.
    pub label: Option<(&'a str, &'a str)>,
}

impl<'a> Shelf<'a> {
    /// A whole pool.
    #[must_use]
    pub fn whole(pool: usize) -> Self {
        Self { pool, label: None }
    }

    /// The ranges of a pool that have an attribute.
    #[must_use]
    pub fn labelled(pool: usize, name: &'a str, value: &'a str) -> Self {
        Self { pool, label: Some((name, value)) }
    }
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
