//! The page of an export.

use super::page::Page;
use super::parts::{clean, counted};
use super::shown::Shown;
use crate::report::Export;

impl Shown for Export {
    /// Lists the allocations that were left out, then the total.
    fn page(&self, _: u64) -> Page {
        let mut out = String::new();
        for left_out in &self.left_out {
            out.extend(["not exported: ", &clean(&left_out.what), ": ", &clean(&left_out.why), "\n"]);
        }
        let written = counted(self.written as u64, "allocation", "allocations");
        out.push_str(&format!("{written} written to {}\n", clean(&self.file.to_string_lossy())));
        if self.ended_by_reboot > 0 {
            let ended = counted(self.ended_by_reboot as u64, "attachment", "attachments");
            out.push_str(&format!("not in it: {ended} that ended with the last boot, of all networks\n"));
        }
        if !self.left_out.is_empty() {
            out.push_str("the other plugin does not know of what was not exported, and may hand it out\n");
        }
        out.into()
    }

    fn is_well(&self) -> bool {
        self.left_out.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::PassedOver;

    #[test]
    fn what_is_left_out_is_named_with_what_follows() {
        let mut report =
            Export { file: "/run/ipam.json".into(), written: 1, ended_by_reboot: 0, left_out: Vec::new() };
        insta::assert_snapshot!(report.page(0), @"1 allocation written to /run/ipam.json");
        let what = "10.0.1.7 of claim router of agent bgp".to_owned();
        report.ended_by_reboot = 1;
        report.left_out.push(PassedOver { what, why: "ipamd knows no agents".to_owned() });
        insta::assert_snapshot!(report.page(0), @r"
        not exported: 10.0.1.7 of claim router of agent bgp: ipamd knows no agents
        1 allocation written to /run/ipam.json
        not in it: 1 attachment that ended with the last boot, of all networks
        the other plugin does not know of what was not exported, and may hand it out
        ");
    }
}
