//! Addresses and prefixes that are not as usual.

use tenure_rpc::v1::{CloudInterface, CloudRange, GetCloudResponse};

use super::super::parts::clean;
use super::super::table::Table;
use super::super::words::{CloudEvidence, CloudState};
use super::{number, state};

/// A range of an interface.
pub(super) struct Carried<'a> {
    interface: &'a CloudInterface,
    range: &'a CloudRange,
}

impl<'a> Carried<'a> {
    /// Lists the ranges that are in doubt, drain, or are not in the ledger.
    pub(super) fn unusual(answer: &'a GetCloudResponse) -> Vec<Self> {
        let carried = |interface: &'a CloudInterface| {
            interface.carries.iter().map(move |range| Self { interface, range })
        };
        answer.interfaces.iter().flat_map(carried).filter(|of| !is_usual(of.range)).collect()
    }
}

/// The table of unusual ranges.
pub(super) fn unusual<'a, 'b>(unusual: &'a [Carried<'b>]) -> Table<'a, Carried<'b>> {
    Table::of(unusual)
        .name("INTERFACE", |of| clean(&of.interface.id))
        .column("RANGE", |of| clean(&of.range.net))
        .number("HELD", |of| number(of.range.held))
        .number("COOLING", |of| number(of.range.cooling))
        .prose("STATE", |of| words(of.range))
}

fn words(range: &CloudRange) -> String {
    let pool = range.pool.is_empty().then(|| "not in the ledger".to_owned());
    let draining = range.draining.then(|| "hands out nothing".to_owned());
    let words = [Some(state(range.standing.as_ref())), draining, pool];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn is_usual(range: &CloudRange) -> bool {
    let is_confirmed = range.standing.as_ref().is_some_and(|standing| {
        CloudState::of(&standing.state).is_some() && CloudEvidence::of(&standing.evidence).is_none()
    });
    is_confirmed && !range.draining && !range.pool.is_empty()
}
