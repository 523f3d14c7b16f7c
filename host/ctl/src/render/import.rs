//! The result of an import, or of its dry run.

use tenure_rpc::v1::ImportOutcome;
use tenure_types::Error;

use super::page::Page;
use super::parts::{clean, counted, joined, or_dash, short};
use super::shown::Shown;
use super::table::Table;
use super::words::ImportVerdict;
use crate::report::{ImportReport, Judged};

impl Shown for ImportReport {
    /// A row for each attachment, then what was not imported, then the totals.
    fn page(&self, _: u64) -> Page {
        let table = Table::of(&self.judged)
            .name("NETWORK", |Judged { entry, .. }| clean(&entry.network))
            .list("ADDRESSES", |Judged { entry, .. }| joined(&entry.entry.addresses, ", "))
            .column("CONTAINER", |Judged { entry, .. }| or_dash(&short(&entry.entry.container_id)))
            .column("INTERFACE", |Judged { entry, .. }| or_dash(&entry.entry.interface))
            .prose("RESULT", |judged| result(&judged.outcome));
        let mut out = String::new();
        for left_out in &self.passed_over {
            out.extend(["not imported: ", &clean(&left_out.what), ": ", &clean(&left_out.why), "\n"]);
        }
        let count = |verdict| {
            self.judged
                .iter()
                .filter(|judged| ImportVerdict::of(&judged.outcome.outcome) == Some(verdict))
                .count() as u64
        };
        let (taken, unknown) = (
            counted(count(ImportVerdict::Taken), "attachment", "attachments"),
            count(ImportVerdict::Unknown),
        );
        let would = if self.applied { "" } else { "would be " };
        out.push_str(&format!(
        "{taken} {would}imported, {unknown} {would}held as unknown, {} already held, {} already released, {} refused, {} left out\n",
        count(ImportVerdict::Held),
        count(ImportVerdict::Released),
        count(ImportVerdict::Refused),
        self.passed_over.len()
    ));
        if unknown > 0 {
            out.push_str("addresses held as unknown are not handed out: `tenurectl check` lists them, `tenurectl release` frees them once nobody uses them\n");
        }
        if !self.applied {
            out.push_str("dry run; pass --apply to make changes\n");
        }
        Page::default().section(table).text(out)
    }

    fn is_well(&self) -> bool {
        let is_problem = |judged: &Judged| {
            let verdict = ImportVerdict::of(&judged.outcome.outcome);
            matches!(verdict, Some(ImportVerdict::Refused | ImportVerdict::Unknown))
        };
        self.passed_over.is_empty() && !self.judged.iter().any(is_problem)
    }

    fn failures(&self) -> &[Error] {
        &self.failures
    }
}

fn result(outcome: &ImportOutcome) -> String {
    match (ImportVerdict::of(&outcome.outcome), outcome.reason.as_str()) {
        (Some(ImportVerdict::Released), _) => "released: it has ended since it was imported".to_owned(),
        (_, "") => clean(&outcome.outcome),
        (_, reason) => format!("{}: {}", clean(&outcome.outcome), clean(reason)),
    }
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::ImportEntry;

    use super::*;
    use crate::report::{FoundAttachment, PassedOver};

    fn report(applied: bool) -> ImportReport {
        let judged = |container: &str, address: &str, outcome: &str, reason: &str| Judged {
            entry: FoundAttachment {
                network: "pods".into(),
                entry: ImportEntry {
                    container_id: container.into(),
                    interface: "eth0".into(),
                    addresses: vec![address.into()],
                    ..ImportEntry::default()
                },
            },
            outcome: ImportOutcome { outcome: outcome.into(), reason: reason.into() },
        };
        let what = "/var/lib/cni/networks/pods/notes.txt".to_owned();
        let why = "file name is not an IP address".to_owned();
        ImportReport {
            applied,
            judged: vec![
                judged("c1", "10.1.0.2", "taken", ""),
                judged("c2", "10.9.0.2", "unknown", "10.9.0.2 is in no range of network pods"),
                judged("", "10.1.0.9", "unknown", "the file is empty, so the owner is unknown"),
                judged("c3", "10.1.0.3", "released", ""),
            ],
            passed_over: vec![PassedOver { what, why }],
            failures: Vec::new(),
        }
    }

    #[test]
    fn a_dry_run_says_what_would_be_done() {
        insta::assert_snapshot!(report(false).page(0).to_string(), @"
        NETWORK  ADDRESSES  CONTAINER  INTERFACE  RESULT
        pods     10.1.0.2   c1         eth0       taken
        pods     10.9.0.2   c2         eth0       unknown: 10.9.0.2 is in no range of network pods
        pods     10.1.0.9   -          eth0       unknown: the file is empty, so the owner is unknown
        pods     10.1.0.3   c3         eth0       released: it has ended since it was imported
        not imported: /var/lib/cni/networks/pods/notes.txt: file name is not an IP address
        1 attachment would be imported, 2 would be held as unknown, 0 already held, 1 already released, 0 refused, 1 left out
        addresses held as unknown are not handed out: `tenurectl check` lists them, `tenurectl release` frees them once nobody uses them
        dry run; pass --apply to make changes
        ");
    }

    #[test]
    fn an_import_says_what_was_done() {
        let text = report(true).page(0).to_string();
        insta::assert_snapshot!(text.lines().skip(6).collect::<Vec<_>>().join("\n"), @"
        1 attachment imported, 2 held as unknown, 0 already held, 1 already released, 0 refused, 1 left out
        addresses held as unknown are not handed out: `tenurectl check` lists them, `tenurectl release` frees them once nobody uses them
        ");
    }
}
