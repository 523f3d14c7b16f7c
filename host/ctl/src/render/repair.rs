//! What a repair did, or would do.

use super::table::{table, text};
use super::{clean, counted};
use crate::repair::Report;

/// A line for each allocation that a report says is gone, then what is left to a person.
pub(crate) fn repair(report: &Report) -> String {
    let mut out = String::new();
    if !report.repaired.is_empty() {
        let mut table = table(["NETWORK", "ALLOCATION", "OWNER", "RESULT"]);
        for (finding, outcome) in &report.repaired {
            let result = match (outcome.outcome.as_str(), report.applied) {
                ("released", false) => "would be released".to_owned(),
                ("ended", _) => "ended already".to_owned(),
                ("kept", _) => format!("kept: {}", clean(&outcome.reason)),
                (outcome, _) => clean(outcome),
            };
            table.add_row([
                clean(&finding.network),
                finding.generation.to_string(),
                clean(&finding.subject),
                result,
            ]);
        }
        out = text(&table);
    }
    for left in &report.left {
        out.extend(["not repaired: ", &clean(&left.kind), ": ", &clean(&left.subject), "\n"]);
    }
    let released = report.repaired.iter().filter(|(_, outcome)| outcome.outcome == "released").count() as u64;
    let released = counted(released, "allocation", "allocations");
    out + &match report.applied {
        true => format!("{released} released\n"),
        false => format!("{released} would be released; nothing was changed: say --apply\n"),
    }
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::RepairOutcome;

    use super::*;
    use crate::repair::Finding;

    #[test]
    fn a_dry_run_says_what_would_be_done_and_what_needs_a_person() {
        let finding = |kind: &str, generation| Finding {
            kind: kind.into(),
            network: "pods".into(),
            subject: format!("c{generation}/eth0"),
            generation,
        };
        let outcome =
            |outcome: &str, reason: &str| RepairOutcome { outcome: outcome.into(), reason: reason.into() };
        let report = Report {
            applied: false,
            repaired: vec![
                (finding("sandbox-gone", 7), outcome("released", "")),
                (finding("sandbox-gone", 8), outcome("kept", "c8/eth0 is not known to be gone")),
                (finding("sandbox-gone", 9), outcome("ended", "")),
            ],
            left: vec![finding("missing-from-memory", 3)],
        };
        insta::assert_snapshot!(repair(&report), @"
        NETWORK  ALLOCATION  OWNER    RESULT
        pods     7           c7/eth0  would be released
        pods     8           c8/eth0  kept: c8/eth0 is not known to be gone
        pods     9           c9/eth0  ended already
        not repaired: missing-from-memory: c3/eth0
        1 allocation would be released; nothing was changed: say --apply
        ");
    }
}
