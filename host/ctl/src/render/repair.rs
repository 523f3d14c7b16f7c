//! The result of a repair, or of its dry run.

use super::parts::{clean, counted, joined, pod_name};
use super::table::{table, text};
use crate::report::Repair;

/// A line for each allocation whose sandbox was reported gone, then the findings left to the operator.
pub(super) fn repair(report: &Repair) -> String {
    let mut out = String::new();
    if !report.repaired.is_empty() {
        let mut table = table(["NETWORK", "ADDRESSES", "POD", "OWNER", "ALLOCATION", "RESULT"]);
        for (finding, outcome) in &report.repaired {
            let result = match (outcome.outcome.as_str(), report.applied) {
                ("released", false) => "would be released".to_owned(),
                ("ended", _) => "already ended".to_owned(),
                ("kept", _) => format!("kept: {}", clean(&outcome.reason)),
                (outcome, _) => clean(outcome),
            };
            table.add_row([
                clean(&finding.network),
                joined(&finding.addresses, ", "),
                pod_name(&finding.pod_namespace, &finding.pod_name),
                clean(&finding.subject),
                finding.generation.to_string(),
                result,
            ]);
        }
        out = text(&table);
    }
    for left in &report.left {
        let addresses = joined(&left.addresses, ", ");
        out.extend([
            "not repaired: ",
            &clean(&left.kind),
            ": ",
            &clean(&left.subject),
            " ",
            &addresses,
            "\n",
        ]);
    }
    let released = report.repaired.iter().filter(|(_, outcome)| outcome.outcome == "released").count() as u64;
    let released = counted(released, "allocation", "allocations");
    out + &match report.applied {
        true => format!("{released} released\n"),
        false => format!("{released} would be released\ndry run; pass --apply to release them\n"),
    }
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::RepairOutcome;

    use super::*;
    use crate::report::Finding;

    #[test]
    fn a_dry_run_says_what_would_be_done_and_what_needs_a_person() {
        let finding = |kind: &str, generation| Finding {
            kind: kind.into(),
            network: "pods".into(),
            subject: format!("c{generation}/eth0"),
            generation,
            addresses: vec![format!("10.1.0.{generation}/24")],
            pod_namespace: "default".into(),
            pod_name: format!("web-{generation}"),
        };
        let outcome =
            |outcome: &str, reason: &str| RepairOutcome { outcome: outcome.into(), reason: reason.into() };
        let report = Repair {
            applied: false,
            repaired: vec![
                (finding("sandbox-gone", 7), outcome("released", "")),
                (finding("sandbox-gone", 8), outcome("kept", "c8/eth0 is not confirmed to be gone")),
                (finding("sandbox-gone", 9), outcome("ended", "")),
            ],
            left: vec![finding("missing-from-memory", 3)],
        };
        insta::assert_snapshot!(repair(&report), @"
        NETWORK  ADDRESSES    POD            OWNER    ALLOCATION  RESULT
        pods     10.1.0.7/24  default/web-7  c7/eth0  7           would be released
        pods     10.1.0.8/24  default/web-8  c8/eth0  8           kept: c8/eth0 is not confirmed to be gone
        pods     10.1.0.9/24  default/web-9  c9/eth0  9           already ended
        not repaired: missing-from-memory: c3/eth0 10.1.0.3/24
        1 allocation would be released
        dry run; pass --apply to release them
        ");
    }
}
