//! The page of delegations.

use tenure_rpc::v1::{Delegation, ListDelegationsResponse};

use super::cell::Cell;
use super::page::Page;
use super::parts::{clean, counted, joined, or_dash, short};
use super::shown::Shown;
use super::table::Table;

impl Shown for ListDelegationsResponse {
    fn page(&self, now_ms: u64) -> Page {
        let table = Table::of(&self.delegations)
            .name("NETWORK", |of| clean(&of.network))
            .name("DELEGATE", |of| clean(&of.delegate))
            .name("OWNER", owner)
            .list("ADDRESSES", |of| or_dash(&joined(&of.addresses, ", ")))
            .column("STATE", |of| of.phase.clone())
            .column("SINCE", |of| Cell::ago(of.since_ms, now_ms))
            .prose("PROBLEM", problem);
        Page::default().table_or(
            table,
            "No delegate was asked for anything: `delegate` in `[networks.NAME]` names one.\n",
        )
    }
}

/// A claim by its name, a pod by its container and interface.
fn owner(delegation: &Delegation) -> String {
    match delegation.owner.strip_prefix("claim ") {
        Some(claim) => clean(claim),
        None => format!("{}/{}", short(&delegation.container_id), clean(&delegation.interface)),
    }
}

fn problem(delegation: &Delegation) -> String {
    match delegation.attempts {
        0 => "-".to_owned(),
        attempts => {
            format!("{}: {}", counted(attempts.into(), "attempt", "attempts"), clean(&delegation.problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_whose_it_is_and_what_keeps_it() {
        let pod = Delegation {
            network: "pods".into(),
            delegate: "azure".into(),
            owner: "0123456789abcdef/eth0".into(),
            container_id: "0123456789abcdef".into(),
            interface: "eth0".into(),
            addresses: vec!["10.1.0.2".into(), "fd00::2".into()],
            phase: "in-use".into(),
            since_ms: 1_000,
            ..Delegation::default()
        };
        let left = Delegation {
            owner: "claim router of cilium".into(),
            addresses: Vec::new(),
            phase: "open".into(),
            attempts: 3,
            problem: "delegate azure: it did not end\u{7}".into(),
            ..pod.clone()
        };
        insta::assert_snapshot!(ListDelegationsResponse { delegations: vec![pod, left] }.page(61_000), @r"
        NETWORK  DELEGATE  OWNER              ADDRESSES          STATE   SINCE   PROBLEM
        pods     azure     0123456789ab/eth0  10.1.0.2, fd00::2  in-use  1m ago  -
        pods     azure     router of cilium   -                  open    1m ago  3 attempts: delegate azure:
                                                                                 it did not end\u{7}
        ");
        insta::assert_snapshot!(ListDelegationsResponse::default().page(0), @"No delegate was asked for anything: `delegate` in `[networks.NAME]` names one.");
    }
}
