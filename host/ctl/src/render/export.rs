//! What was written down for another IPAM.

use super::parts::{clean, counted};
use crate::report::Export;

/// What was left out, then the total.
pub(super) fn export(report: &Export) -> String {
    let mut out = String::new();
    for left_out in &report.left_out {
        out.extend(["not exported: ", &clean(&left_out.what), ": ", &clean(&left_out.why), "\n"]);
    }
    let written = counted(report.written as u64, "allocation", "allocations");
    out.push_str(&format!("{written} written to {}\n", clean(&report.file.to_string_lossy())));
    if !report.left_out.is_empty() {
        out.push_str("the other plugin does not know of what was not exported, and may hand it out\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::PassedOver;

    #[test]
    fn what_is_left_out_is_named_with_what_follows() {
        let mut report = Export { file: "/run/ipam.json".into(), written: 1, left_out: Vec::new() };
        insta::assert_snapshot!(export(&report), @"1 allocation written to /run/ipam.json");
        let what = "10.0.1.7 of claim router of agent bgp".to_owned();
        report.left_out.push(PassedOver { what, why: "ipamd knows no agents".to_owned() });
        insta::assert_snapshot!(export(&report), @r"
        not exported: 10.0.1.7 of claim router of agent bgp: ipamd knows no agents
        1 allocation written to /run/ipam.json
        the other plugin does not know of what was not exported, and may hand it out
        ");
    }
}
