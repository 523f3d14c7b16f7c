//! Addresses and prefixes that are not as usual.

use tenure_rpc::v1::{CloudRange, GetCloudResponse};

use super::super::parts::{clean, duration};
use super::super::table::{align_right, table, text};
use super::{number, state};

/// Those that are in doubt, drain, or are not in the ledger.
pub(super) fn unusual(answer: &GetCloudResponse) -> String {
    let mut table = table(["INTERFACE", "RANGE", "HELD", "COOLING", "STATE"]);
    align_right(&mut table, &[2, 3]);
    for interface in &answer.interfaces {
        for range in interface.carries.iter().filter(|range| !is_usual(range)) {
            let pool = if range.pool.is_empty() { Some("not in the ledger".to_owned()) } else { None };
            let draining = range.draining.then(|| "hands out nothing".to_owned());
            let words: Vec<String> =
                [Some(state(range.standing.as_ref())), draining, pool].into_iter().flatten().collect();
            table.add_row([
                clean(&interface.id),
                clean(&range.net),
                number(range.held),
                number(range.cooling),
                words.join(", "),
            ]);
        }
    }
    if table.row_count() == 0 { String::new() } else { text(&table) }
}

fn is_usual(range: &CloudRange) -> bool {
    let is_confirmed = range
        .standing
        .as_ref()
        .is_some_and(|standing| standing.state == "confirmed" && standing.evidence != "ledger");
    is_confirmed && !range.draining && !range.pool.is_empty()
}

/// What EC2 does not show any more, and which may be in use.
pub(super) fn quarantine(answer: &GetCloudResponse) -> String {
    if answer.quarantine.is_empty() {
        return String::new();
    }
    let mut table = table(["QUARANTINED", "RANGE", "FOR", "WHY IT STAYS"]);
    for of in &answer.quarantine {
        table.add_row([clean(&of.interface), clean(&of.net), duration(of.age_ms), clean(&of.reason)]);
    }
    text(&table)
}
