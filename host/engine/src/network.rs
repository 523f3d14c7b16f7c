//! Networks: their books and bounds, how they are defined, and the requests that wait for their supply.

pub(crate) mod bounds;
pub(crate) mod definition;
pub(crate) mod demand;
pub(crate) mod gateways;
pub(crate) mod networks;
pub(crate) mod ranges;
pub(crate) mod redefine;
pub(crate) mod slot;
pub(crate) mod within;
