//! The calls of EC2, with what they may still cost.

use std::collections::BTreeMap;

use tenure_rpc::v1::{CloudRate, GetCloudResponse};

use super::super::cell::Cell;
use super::super::parts::{clean, duration, or_dash};
use super::super::table::Table;
use super::super::words::CallOutcome;

/// The calls of one kind.
#[derive(Default)]
pub(super) struct CloudCall<'a> {
    succeeded: u64,
    failed: Vec<String>,
    rate: Option<&'a CloudRate>,
}

impl<'a> CloudCall<'a> {
    /// Lists the calls that were made or have a budget, by their names.
    pub(super) fn all(answer: &'a GetCloudResponse) -> Vec<(&'a str, Self)> {
        let mut all: BTreeMap<&str, Self> = BTreeMap::new();
        for of in &answer.calls {
            let call = all.entry(&of.call).or_default();
            match CallOutcome::of(&of.outcome) {
                Some(CallOutcome::Ok) => call.succeeded = of.count,
                None => call.failed.push(format!("{} {}", of.count, clean(&of.outcome))),
            }
        }
        for rate in &answer.rates {
            all.entry(&rate.call).or_default().rate = Some(rate);
        }
        all.into_iter().collect()
    }

    /// The calls that may be made at once.
    fn budget(&self) -> Cell {
        match self.rate {
            None => "-".into(),
            Some(CloudRate { wait_ms: 0, tokens, .. }) => (*tokens).into(),
            Some(CloudRate { wait_ms, .. }) => Cell::valued(format!("none for {}", duration(*wait_ms)), 0),
        }
    }

    /// How many more each second.
    fn per_second(&self) -> String {
        self.rate.map_or_else(|| "-".to_owned(), |rate| format!("{:.2}", rate.per_second))
    }
}

/// The table of calls.
pub(super) fn calls<'a, 'b>(calls: &'a [(&'b str, CloudCall<'b>)]) -> Table<'a, (&'b str, CloudCall<'b>)> {
    Table::of(calls)
        .column("CALL", |(name, _)| clean(name))
        .number("OK", |(_, call)| call.succeeded)
        .number("BUDGET", |(_, call)| call.budget())
        .number("PER SECOND", |(_, call)| call.per_second())
        .prose("FAILED", |(_, call)| or_dash(&call.failed.join(", ")))
}
