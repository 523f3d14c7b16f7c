//! What an import did, or would do.

use super::table::{table, text};
use super::{clean, counted, joined, or_dash, short};
use crate::import::{Judged, Report};

/// A line for each attachment, then what was left out, then the count.
pub(crate) fn import(report: &Report) -> String {
    let mut out = String::new();
    if !report.judged.is_empty() {
        let mut table = table(["NETWORK", "ADDRESSES", "CONTAINER", "INTERFACE", "RESULT"]);
        for Judged { entry, outcome } in &report.judged {
            let result = match (outcome.outcome.as_str(), outcome.reason.as_str()) {
                (outcome, "") => clean(outcome),
                (outcome, reason) => format!("{}: {}", clean(outcome), clean(reason)),
            };
            table.add_row([
                clean(&entry.network),
                joined(&entry.entry.addresses, ", "),
                short(&entry.entry.container_id),
                or_dash(&entry.entry.interface),
                result,
            ]);
        }
        out = text(&table);
    }
    for left_out in &report.passed_over {
        out.extend(["not imported: ", &clean(&left_out.what), ": ", &clean(&left_out.why), "\n"]);
    }
    let count = |outcome: &str| {
        report.judged.iter().filter(|judged| judged.outcome.outcome == outcome).count() as u64
    };
    let taken = counted(count("taken"), "attachment", "attachments");
    let rest = format!(
        "{} held already, {} refused, {} left out",
        count("held"),
        count("refused"),
        report.passed_over.len()
    );
    out + &match report.applied {
        true => format!("{taken} taken over, {rest}\n"),
        false => format!("{taken} would be taken over, {rest}; nothing was changed: say --apply\n"),
    }
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::{ImportEntry, ImportOutcome};

    use super::*;
    use crate::import::{Entry, PassedOver};

    fn report(applied: bool) -> Report {
        let judged = |container: &str, address: &str, outcome: &str, reason: &str| Judged {
            entry: Entry {
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
        let what = "/var/lib/cni/networks/pods/10.1.0.9".to_owned();
        let why = "empty: nobody knows whose address it is".to_owned();
        Report {
            applied,
            judged: vec![
                judged("c1", "10.1.0.2", "taken", ""),
                judged("c2", "10.9.0.2", "refused", "10.9.0.2 is in no range of network pods"),
            ],
            passed_over: vec![PassedOver { what, why }],
        }
    }

    #[test]
    fn a_dry_run_says_what_would_be_done() {
        insta::assert_snapshot!(import(&report(false)), @"
        NETWORK  ADDRESSES  CONTAINER  INTERFACE  RESULT
        pods     10.1.0.2   c1         eth0       taken
        pods     10.9.0.2   c2         eth0       refused: 10.9.0.2 is in no range of network pods
        not imported: /var/lib/cni/networks/pods/10.1.0.9: empty: nobody knows whose address it is
        1 attachment would be taken over, 0 held already, 1 refused, 1 left out; nothing was changed: say --apply
        ");
    }

    #[test]
    fn an_import_says_what_was_done() {
        let text = import(&report(true));
        insta::assert_snapshot!(text.lines().last().unwrap_or_default(), @"1 attachment taken over, 0 held already, 1 refused, 1 left out");
    }
}
