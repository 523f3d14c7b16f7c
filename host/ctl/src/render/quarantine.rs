//! The list of quarantines, and the answers to putting there and lifting.

use tenure_rpc::v1::{ListQuarantineResponse, QuarantinedAddress};

use super::cell::Cell;
use super::page::Page;
use super::parts::{clean, or_dash};
use super::shown::Shown;
use super::table::Table;
use crate::report::{AddedToQuarantine, LiftedQuarantine};

impl Shown for ListQuarantineResponse {
    fn page(&self, now_ms: u64) -> Page {
        let table = Table::of(&self.addresses)
            .name("NETWORK", |of| clean(&of.network))
            .column("ADDRESS", |of| clean(&of.address))
            .column("KIND", |of| clean(&of.kind))
            .column("SINCE", |of| Cell::ago(of.since_ms, now_ms))
            .name("OWNER", |of| or_dash(&clean(&of.owner)))
            .prose("REASON", |of: &QuarantinedAddress| or_dash(&clean(&of.reason)));
        Page::default().table_or(table, "Nothing is in quarantine.\n")
    }
}

impl Shown for AddedToQuarantine {
    fn page(&self, _: u64) -> Page {
        let is = if self.answer.changed { "is in quarantine" } else { "was in quarantine already" };
        Page::default().text(format!("{} on {} {is}\n", self.address, clean(&self.network)))
    }
}

impl Shown for LiftedQuarantine {
    fn page(&self, _: u64) -> Page {
        let network = clean(&self.answer.network);
        Page::default().text(format!("{} on {network} is out of quarantine\n", self.address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_a_row_with_its_reason() {
        let address = |kind: &str, owner: &str, reason: &str| QuarantinedAddress {
            network: "pods".into(),
            address: "10.1.0.7".into(),
            kind: kind.into(),
            owner: owner.into(),
            reason: reason.into(),
            since_ms: 1_000,
        };
        let addresses = vec![
            address("address", "", "a printer answers\n"),
            address("owner", "attachment c1/eth0", "its namespace is gone"),
        ];
        let page = ListQuarantineResponse { addresses }.page(62_000).to_string();
        let rows: Vec<Vec<&str>> = page.lines().map(|line| line.split_whitespace().collect()).collect();
        let expected = [
            "NETWORK ADDRESS KIND SINCE OWNER REASON",
            "pods 10.1.0.7 address 1m 1s ago - a printer answers\\n",
            "pods 10.1.0.7 owner 1m 1s ago attachment c1/eth0 its namespace is gone",
        ];
        let expected: Vec<Vec<&str>> =
            expected.iter().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows.get(..3), Some(&*expected), "{page}");
    }
}
