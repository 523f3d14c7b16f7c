//! The findings of a check.

use tenure_rpc::v1::{CheckResponse, Finding};

use super::page::Page;
use super::parts::{clean, counted, joined, pod_name};
use super::shown::Shown;

impl Shown for CheckResponse {
    /// The summary, then each finding and each note with its next step.
    fn page(&self, _: u64) -> Page {
        let compared = counted(self.compared, "fact", "facts");
        let mut text = if self.findings.is_empty() {
            format!("ok: {compared} compared, no differences\n")
        } else {
            let count = self.findings.len() as u64 + self.findings_left_out;
            let count = counted(count, "problem", "problems");
            format!("{count} in {compared}\n")
        };
        text.extend(self.findings.iter().chain(&self.notes).map(finding));
        for (left_out, what) in [(self.findings_left_out, "problem"), (self.notes_left_out, "note")] {
            if left_out > 0 {
                text += &format!("\nand {} more\n", counted(left_out, what, &format!("{what}s")));
            }
        }
        text.into()
    }

    fn is_well(&self) -> bool {
        self.findings.is_empty()
    }
}

fn finding(finding: &Finding) -> String {
    let Finding { kind, network, subject, detail, next_step, addresses, .. } = finding;
    let [kind, network, subject, detail, next_step] =
        [kind, network, subject, detail, next_step].map(|text| clean(text));
    let place = if network.is_empty() { String::new() } else { format!(" on {network}") };
    let pod = match pod_name(&finding.pod_namespace, &finding.pod_name) {
        pod if pod == "-" => String::new(),
        pod => format!(", pod {pod}"),
    };
    let whose =
        if addresses.is_empty() { String::new() } else { format!("  {}{pod}\n", joined(addresses, ", ")) };
    format!("\n{kind}: {subject}{place}\n{whose}  {detail}\n  next: {next_step}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_one_line() {
        insta::assert_snapshot!(CheckResponse { compared: 1, ..CheckResponse::default() }.page(0), @"ok: 1 fact compared, no differences");
    }

    #[test]
    fn a_finding_says_what_to_do() {
        let found = Finding {
            kind: "missing-from-checkpoint".into(),
            network: "pods".into(),
            subject: "4c01db0b339c/eth0".into(),
            detail: "allocation 17 of 10.1.0.7/24".into(),
            next_step: "look for checkpoint errors in the daemon's log, and report a bug".into(),
            generation: 17,
            addresses: vec!["10.1.0.7/24".into()],
            pod_namespace: "default".into(),
            pod_name: "web-1".into(),
        };
        insta::assert_snapshot!(CheckResponse { compared: 24, findings: vec![found], ..CheckResponse::default() }.page(0), @"
        1 problem in 24 facts

        missing-from-checkpoint: 4c01db0b339c/eth0 on pods
          10.1.0.7/24, pod default/web-1
          allocation 17 of 10.1.0.7/24
          next: look for checkpoint errors in the daemon's log, and report a bug
        ");
    }

    #[test]
    fn a_note_is_shown_and_is_no_problem() {
        let note = Finding {
            kind: "networks-overlap".into(),
            network: "narrow".into(),
            subject: "wide".into(),
            detail: "range 10.1.7.1-10.1.7.254 overlaps 10.1.0.1-10.1.255.254 of network wide".into(),
            next_step: "give them different ranges".into(),
            ..Finding::default()
        };
        insta::assert_snapshot!(CheckResponse { compared: 24, notes: vec![note], ..CheckResponse::default() }.page(0), @"
        ok: 24 facts compared, no differences

        networks-overlap: wide on narrow
          range 10.1.7.1-10.1.7.254 overlaps 10.1.0.1-10.1.255.254 of network wide
          next: give them different ranges
        ");
    }
}
