//! The result of an installation or a removal, or of its dry run.

use super::page::Page;
use super::parts::{clean, or_dash};
use super::shown::Shown;
use super::table::Table;
use crate::report::{FileChange, FileOutcome, InstallReport, InstalledKind};

impl Shown for InstallReport {
    /// A row for each file, then the notes.
    fn page(&self, _: u64) -> Page {
        let table = Table::of(&self.files)
            .name("FILE", |of| clean(&of.file.to_string_lossy()))
            .column("KIND", |of| kind(of.kind))
            .column("VERSION", |of| or_dash(&of.version))
            .prose("RESULT", |of| result(of, self.applied));
        let mut out = String::new();
        for note in &self.notes {
            out.extend(["note: ", &clean(note), "\n"]);
        }
        if !self.applied {
            out.push_str("dry run; pass --apply to make changes\n");
        }
        Page::default().section(table).text(out)
    }

    fn is_well(&self) -> bool {
        !self.files.iter().any(|of| of.outcome == FileOutcome::Left)
    }
}

fn kind(kind: InstalledKind) -> &'static str {
    match kind {
        InstalledKind::Plugin => "plugin",
        InstalledKind::KeptPlugin => "kept plugin",
        InstalledKind::Link => "link",
        InstalledKind::Configuration => "configuration",
    }
}

fn result(of: &FileChange, applied: bool) -> String {
    let would = if applied { "" } else { "would be " };
    match of.outcome {
        FileOutcome::Created => format!("{would}created"),
        FileOutcome::Replaced => format!("{would}replaced"),
        FileOutcome::Removed => format!("{would}removed"),
        FileOutcome::Unchanged => "unchanged".to_owned(),
        FileOutcome::Absent => "not there any more".to_owned(),
        FileOutcome::Kept => "kept".to_owned(),
        FileOutcome::Left => format!("left: {}", clean(&of.reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(applied: bool, outcomes: [FileOutcome; 2]) -> InstallReport {
        let change = |file: &str, kind, version: &str, outcome| FileChange {
            file: file.into(),
            kind,
            outcome,
            version: version.into(),
            sha256: "9f86d081884c".into(),
            reason: "somebody has changed it since it was installed".into(),
        };
        let [plugin, configuration] = outcomes;
        let notes = vec!["00-multus.conf comes before 00-tenure.conflist".to_owned()];
        let files = vec![
            change("/opt/cni/bin/tenure", InstalledKind::Plugin, "0.2.0", plugin),
            change("/etc/cni/net.d/00-tenure.conflist", InstalledKind::Configuration, "", configuration),
        ];
        InstallReport { applied, files, notes }
    }

    #[test]
    fn a_dry_run_says_what_would_be_done() {
        let report = report(false, [FileOutcome::Replaced, FileOutcome::Created]);
        assert!(report.is_well());
        insta::assert_snapshot!(report.page(0), @"
        FILE                               KIND           VERSION  RESULT
        /opt/cni/bin/tenure                plugin         0.2.0    would be replaced
        /etc/cni/net.d/00-tenure.conflist  configuration  -        would be created
        note: 00-multus.conf comes before 00-tenure.conflist
        dry run; pass --apply to make changes
        ");
    }

    #[test]
    fn a_file_that_was_left_is_a_problem_with_its_reason() {
        let report = report(true, [FileOutcome::Removed, FileOutcome::Left]);
        assert!(!report.is_well());
        let page = report.page(0).to_string();
        assert!(page.contains("0.2.0    removed\n"), "{page}");
        let words: Vec<_> = page.split_whitespace().collect();
        let left = "left: somebody has changed it since it was installed";
        assert!(words.join(" ").contains(left), "{page}");
    }
}
