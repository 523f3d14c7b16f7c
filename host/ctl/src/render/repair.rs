//! The result of a repair, or of its dry run.

use super::page::Page;
use super::parts::{clean, counted, joined, pod_name};
use super::shown::Shown;
use super::table::Table;
use super::words::ReleaseOutcome;
use crate::report::{Repair, RepairedFinding};

impl Shown for Repair {
    /// A row for each allocation whose sandbox was reported gone, then the findings left to the operator.
    fn page(&self, _: u64) -> Page {
        let result = |of: &RepairedFinding| match (ReleaseOutcome::of(&of.outcome.outcome), self.applied) {
            (Some(ReleaseOutcome::Released), false) => "would be released".to_owned(),
            (Some(ReleaseOutcome::Ended), _) => "already ended".to_owned(),
            (Some(ReleaseOutcome::Kept), _) => format!("kept: {}", clean(&of.outcome.reason)),
            _ => clean(&of.outcome.outcome),
        };
        let table = Table::of(&self.repaired)
            .name("NETWORK", |of| clean(&of.finding.network))
            .list("ADDRESSES", |of| joined(&of.finding.addresses, ", "))
            .name("POD", |of| pod_name(&of.finding.pod_namespace, &of.finding.pod_name))
            .name("OWNER", |of| clean(&of.finding.subject))
            .column("ALLOCATION", |of| of.finding.generation)
            .prose("RESULT", result);
        let mut out = String::new();
        for left in &self.left {
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
        let released = self.repaired.iter().filter(|of| has(of, ReleaseOutcome::Released)).count() as u64;
        let released = counted(released, "allocation", "allocations");
        out += &match self.applied {
            true => format!("{released} released\n"),
            false => format!("{released} would be released\ndry run; pass --apply to release them\n"),
        };
        Page::default().section(table).text(out)
    }

    fn is_well(&self) -> bool {
        self.left.is_empty() && self.repaired.iter().all(|of| !has(of, ReleaseOutcome::Kept))
    }
}

fn has(of: &RepairedFinding, outcome: ReleaseOutcome) -> bool {
    ReleaseOutcome::of(&of.outcome.outcome) == Some(outcome)
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
        let proven = |generation, outcome: &str, reason: &str| RepairedFinding {
            finding: finding("sandbox-gone", generation),
            outcome: RepairOutcome { outcome: outcome.into(), reason: reason.into() },
        };
        let report = Repair {
            applied: false,
            repaired: vec![
                proven(7, "released", ""),
                proven(8, "kept", "c8/eth0 is not confirmed to be gone"),
                proven(9, "ended", ""),
            ],
            left: vec![finding("missing-from-memory", 3)],
        };
        insta::assert_snapshot!(report.page(0), @"
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
