//! The result of pulling policies.

use super::page::Page;
use super::parts::{clean, or_dash};
use super::shown::Shown;
use super::table::Table;
use crate::report::{PullOutcome, PullReport};

impl Shown for PullReport {
    /// A row for each policy.
    fn page(&self, _: u64) -> Page {
        let table = Table::of(&self.policies)
            .name("POLICY", |of| clean(&of.name))
            .name("REFERENCE", |of| clean(&of.reference))
            .column("RESULT", |of| outcome(of.outcome))
            .prose("PROBLEM", |of| or_dash(&of.problem));
        Page::default().table(table)
    }

    fn is_well(&self) -> bool {
        !self.policies.iter().any(|of| of.outcome == PullOutcome::Failed)
    }
}

fn outcome(outcome: PullOutcome) -> &'static str {
    match outcome {
        PullOutcome::Pulled => "pulled",
        PullOutcome::Unchanged => "unchanged",
        PullOutcome::Removed => "removed",
        PullOutcome::Failed => "FAILED",
    }
}

#[cfg(test)]
mod tests {
    use tenure_types::PolicyName;

    use super::*;
    use crate::report::PulledPolicy;

    #[test]
    fn a_policy_that_was_not_pulled_says_why() {
        let policy = |name: &str, outcome| {
            PulledPolicy::new(&PolicyName::new(name).unwrap(), format!("oci://r.example.com/{name}"), outcome)
        };
        let mut report = PullReport { policies: vec![policy("one", PullOutcome::Unchanged)] };
        assert!(report.is_well() && !report.has_changed());
        let problem = "r.example.com sent nothing for 60 s".to_owned();
        report.policies.push(PulledPolicy { problem, ..policy("two", PullOutcome::Failed) });
        assert!(!report.is_well() && !report.has_changed());
        insta::assert_snapshot!(report.page(0), @"
        POLICY  REFERENCE                RESULT     PROBLEM
        one     oci://r.example.com/one  unchanged  -
        two     oci://r.example.com/two  FAILED     r.example.com sent nothing for 60 s
        ");
    }
}
