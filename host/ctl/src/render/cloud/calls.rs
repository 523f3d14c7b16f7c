//! The calls of EC2, with what they may still cost.

use std::collections::BTreeMap;

use tenure_rpc::v1::{CloudRate, GetCloudResponse};

use super::super::parts::{clean, duration};
use super::super::table::{align_right, table, text};

/// The calls of one kind.
#[derive(Default)]
struct Row<'a> {
    succeeded: u64,
    failed: Vec<String>,
    rate: Option<&'a CloudRate>,
}

/// A row for each call that was made.
pub(super) fn calls(answer: &GetCloudResponse) -> String {
    let mut rows: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for of in &answer.calls {
        let row = rows.entry(&of.call).or_default();
        match of.outcome.as_str() {
            "ok" => row.succeeded = of.count,
            outcome => row.failed.push(format!("{} {}", of.count, clean(outcome))),
        }
    }
    for rate in &answer.rates {
        rows.entry(&rate.call).or_default().rate = Some(rate);
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut table = table(["CALL", "OK", "BUDGET", "PER SECOND", "FAILED"]);
    align_right(&mut table, &[1, 2, 3]);
    for (call, row) in rows {
        let (budget, per_second) = row.rate.map_or_else(unknown, budget);
        let failed = if row.failed.is_empty() { "-".to_owned() } else { row.failed.join(", ") };
        table.add_row([clean(call), row.succeeded.to_string(), budget, per_second, failed]);
    }
    text(&table)
}

/// The calls that may be made at once, and how many more each second.
fn budget(rate: &CloudRate) -> (String, String) {
    let budget = match rate.wait_ms {
        0 => rate.tokens.to_string(),
        wait => format!("none for {}", duration(wait)),
    };
    (budget, format!("{:.2}", rate.per_second))
}

fn unknown() -> (String, String) {
    ("-".to_owned(), "-".to_owned())
}
