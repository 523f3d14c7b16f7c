//! The page of a doctor.

use super::page::Page;
use super::parts::{clean, counted, or_dash};
use super::shown::Shown;
use super::table::Table;
use crate::report::{CheckVerdict, Diagnosis};

impl Shown for Diagnosis {
    /// A row for each check, then the totals.
    fn page(&self, _: u64) -> Page {
        let table = Table::of(&self.checks)
            .column("CHECK", |of| of.name)
            .column("VERDICT", |of| verdict(of.verdict))
            .prose("FOUND", |of| clean(&of.found))
            .prose("WHAT TO DO", |of| or_dash(&of.next_step));
        let of = |verdict| self.checks.iter().filter(|check| check.verdict == verdict).count() as u64;
        let problems = counted(of(CheckVerdict::Problem), "problem", "problems");
        let warnings = counted(of(CheckVerdict::Warning), "warning", "warnings");
        let (fine, skipped) = (of(CheckVerdict::Fine), of(CheckVerdict::Skipped));
        Page::default().table(table).text(format!("{problems}, {warnings}, {fine} fine, {skipped} skipped\n"))
    }

    fn is_well(&self) -> bool {
        !self.checks.iter().any(|check| check.verdict == CheckVerdict::Problem)
    }
}

fn verdict(verdict: CheckVerdict) -> &'static str {
    match verdict {
        CheckVerdict::Fine => "fine",
        CheckVerdict::Warning => "WARNING",
        CheckVerdict::Problem => "PROBLEM",
        CheckVerdict::Skipped => "skipped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::NodeCheck;

    #[test]
    fn each_check_has_its_finding_and_what_to_do() {
        let mut diagnosis = Diagnosis {
            checks: vec![
                NodeCheck::fine("kernel", "6.1.0"),
                NodeCheck::warning("clock", "it jumped by 2h", "check the time server"),
                NodeCheck::skipped("plugin", "not installed yet"),
            ],
        };
        assert!(diagnosis.is_well());
        diagnosis.checks.push(NodeCheck::problem("state-directory", "tmpfs", "mount a disk"));
        assert!(!diagnosis.is_well());
        insta::assert_snapshot!(diagnosis.page(0), @"
        CHECK            VERDICT  FOUND              WHAT TO DO
        kernel           fine     6.1.0              -
        clock            WARNING  it jumped by 2h    check the time server
        plugin           skipped  not installed yet  -
        state-directory  PROBLEM  tmpfs              mount a disk
        1 problem, 1 warning, 1 fine, 1 skipped
        ");
    }
}
