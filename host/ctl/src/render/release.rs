//! The result of a release, or of its dry run.

use tenure_rpc::v1::{self, Allocation};

use super::page::Page;
use super::parts::{clean, joined, pod};
use super::shown::Shown;
use super::words::{OwnerKind, ReleaseOutcome};
use crate::report::Release;

impl Shown for Release {
    /// One line: the address's owner, and the outcome.
    fn page(&self, _: u64) -> Page {
        let Self { address, applied, answer } = self;
        let held = answer.allocation.clone().unwrap_or_default();
        let what = format!(
            "{address} on {}: allocation {} of {} ({})",
            clean(&held.network),
            held.generation,
            owner(&held),
            joined(&held.addresses, ", ")
        );
        let text = match (ReleaseOutcome::of(&answer.outcome), *applied) {
            (Some(ReleaseOutcome::Kept), _) => format!("{what} is kept: {}\n", clean(&answer.reason)),
            (Some(ReleaseOutcome::Ended), _) => format!("{what} has already ended\n"),
            (_, true) => format!("{what} is released\n"),
            (_, false) => format!("{what} would be released\ndry run; pass --apply to release it\n"),
        };
        text.into()
    }

    fn is_well(&self) -> bool {
        ReleaseOutcome::of(&self.answer.outcome) != Some(ReleaseOutcome::Kept)
    }
}

fn owner(held: &Allocation) -> String {
    if OwnerKind::of(&held.kind) == Some(OwnerKind::Unknown) {
        return format!("an unknown owner ({}: {})", clean(&held.source), clean(&held.unknown_because));
    }
    if let Some(v1::allocation::Owner::Claim(claim)) = &held.owner {
        return format!("claim {} of agent {}", clean(&claim.name), clean(&claim.agent));
    }
    format!("{}/{}, pod {}", clean(&held.container_id), clean(&held.interface), pod(held))
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::ReleaseResponse;

    use super::*;

    fn said(applied: bool, answer: ReleaseResponse) -> String {
        Release { address: "10.1.0.7".parse().unwrap(), applied, answer }.page(0).to_string()
    }

    #[test]
    fn it_says_who_had_it() {
        let held = Allocation {
            network: "pods".into(),
            generation: 7,
            addresses: vec!["10.1.0.7/24".into()],
            kind: "unknown".into(),
            source: "host-local /var/lib/cni/networks".into(),
            unknown_because: "c1/eth0: named for 2 addresses".into(),
            ..Allocation::default()
        };
        let answer = ReleaseResponse {
            outcome: "released".into(),
            allocation: Some(held.clone()),
            ..Default::default()
        };
        insta::assert_snapshot!(said(false, answer), @"
        10.1.0.7 on pods: allocation 7 of an unknown owner (host-local /var/lib/cni/networks: c1/eth0: named for 2 addresses) (10.1.0.7/24) would be released
        dry run; pass --apply to release it
        ");
        let held = Allocation {
            kind: "attachment".into(),
            container_id: "c1".into(),
            interface: "eth0".into(),
            ..held
        };
        let reason = "the container runtime lists its sandbox".into();
        let answer = ReleaseResponse { outcome: "kept".into(), reason, allocation: Some(held) };
        insta::assert_snapshot!(said(true, answer), @"10.1.0.7 on pods: allocation 7 of c1/eth0, pod - (10.1.0.7/24) is kept: the container runtime lists its sandbox");
    }
}
