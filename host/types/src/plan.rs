//! Input of a plan besides the ledger and the configuration.

use crate::{Attributes, Effect};

/// The demand for a pool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Demand {
    /// The pool's index in its network.
    pub pool: usize,
    /// Requests that wait for an address, or were recently told to try again.
    pub waiting: u32,
    /// Further facts about it.
    pub attributes: Attributes,
}

/// Something outside the ledger that a plan depends on, such as a network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The object's kind.
    pub kind: String,
    /// The object's name, unique within its kind.
    pub name: String,
    /// Facts about it.
    pub attributes: Attributes,
}

/// The input of a plan, besides the ledger and the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanState {
    /// The demand for each pool.
    pub demands: Vec<Demand>,
    /// The objects outside the ledger.
    pub objects: Vec<Object>,
    /// Effects of earlier plans that are not finished.
    pub pending: Vec<Effect>,
    /// Facts about the whole node, such as its limits.
    pub attributes: Attributes,
}
