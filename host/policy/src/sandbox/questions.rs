//! The questions that a policy asks during a call, one type for each, with the type of its answer.
//!
//! A question is plain data, so that it can be answered from a book, from a configuration or from a recording, and can
//! be written down. It does not know which of them answers it.

mod configuration;
mod labels;
mod ledger;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure_ledger::Book;

use super::bindings::tenure::ipam::types::Config;

pub(super) use self::configuration::{ConfiguredRanges, DefinitionAttributes, Get};
pub(super) use self::labels::Labels;
pub(super) use self::ledger::{
    Cooling, CountOf, Free, Last, LastOf, PoolNamed, PoolOf, Pools, RangeOf, Ranges, StandingOf, UsageBy,
    UsageOf,
};

/// A question about the network at hand.
///
/// Within one call, the same question always has the same answer, since nothing changes the network meanwhile.
pub(super) trait LedgerQuestion: Serialize {
    /// The function's name in the interface; those of `configuration` begin with `configuration.`.
    const FUNCTION: &'static str;

    /// The question's answer.
    type Answer: Serialize + DeserializeOwned;

    /// Whether an answer may look through all ranges of a pool, or through all of its cooling addresses.
    fn looks_through(&self) -> bool {
        false
    }

    /// The answer of an existing network.
    fn of_book(&self, book: &Book) -> Self::Answer;

    /// The answer while the network is being defined: that of an empty network, except about the configuration.
    fn of_configuration(&self, config: &Config) -> Self::Answer;
}

#[cfg(test)]
mod tests;
