//! The claims of agents.

use tenure_rpc::v1::{AgentStanding, Claim, ListAllClaimsResponse};

use super::parts::{clean, duration, joined};
use super::table::{table, text};
use crate::report::ReleasedClaim;

/// A row for each claim.
pub(super) fn claims(answer: &ListAllClaimsResponse, now_ms: u64) -> String {
    if answer.claims.is_empty() {
        return "No claims: `[agents.NAME]` in tenured.toml admits agents, which claim addresses on agent/agent.sock.\n"
            .to_owned();
    }
    let mut table =
        table(["AGENT", "NETWORK", "NAME", "ADDRESSES", "AGE", "LAST HEARD", "WATCHING", "STATE"]);
    // An older daemon does not say how agents stand to their claims.
    let standings = answer.standings.iter().map(Some).chain(std::iter::repeat(None));
    for (claim, standing) in answer.claims.iter().zip(standings) {
        table.add_row([
            clean(&claim.agent),
            clean(&claim.network),
            clean(&claim.name),
            addresses(claim),
            duration(claim.age_ms),
            standing.map_or_else(|| "-".to_owned(), |standing| last_heard(standing, now_ms)),
            standing.map_or("-", |standing| if standing.watches > 0 { "yes" } else { "no" }).to_owned(),
            state(claim, standing, now_ms),
        ]);
    }
    text(&table)
}

/// The result of releasing a claim, or of the dry run.
pub(super) fn released(ReleasedClaim { applied, claim }: &ReleasedClaim) -> String {
    let Some(claim) = claim else { return "no such claim: nothing to release\n".to_owned() };
    let what = format!(
        "claim {} of {} on {} ({})",
        clean(&claim.name),
        clean(&claim.agent),
        clean(&claim.network),
        addresses(claim)
    );
    match applied {
        true => format!("{what} is released\n"),
        false => format!("{what} would be released\ndry run; pass --apply to release it\n"),
    }
}

fn addresses(claim: &Claim) -> String {
    let addresses: Vec<_> = claim.addresses.iter().map(|address| address.address.clone()).collect();
    joined(&addresses, ",")
}

/// When the agent was last heard of.
fn last_heard(standing: &AgentStanding, now_ms: u64) -> String {
    match (standing.watches, standing.last_heard_ms) {
        (0, 0) => "before tenured started".to_owned(),
        (0, at) => format!("{} ago", duration(now_ms.saturating_sub(at))),
        _ => "now".to_owned(),
    }
}

/// Whether the agent is there, and what is to become of the claim.
fn state(claim: &Claim, standing: Option<&AgentStanding>, now_ms: u64) -> String {
    let left = duration(claim.lapses_at_ms.saturating_sub(now_ms));
    let mut state = match (claim.reserved, claim.lapses_at_ms) {
        (true, _) => format!("reserved since the reboot, for {left}"),
        (false, 0) => "in use".to_owned(),
        (false, _) => format!("in use, lease ends in {left}"),
    };
    if claim.addresses.iter().any(|address| address.leaving) {
        state.push_str(", in a range that is leaving");
    }
    if standing.is_some_and(|standing| standing.orphaned) {
        state.push_str("; orphaned: its agent is not configured");
    }
    state
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::ClaimAddress;

    use super::*;

    fn claim(name: &str, address: &str) -> Claim {
        let address = ClaimAddress { address: address.into(), ..ClaimAddress::default() };
        Claim {
            agent: "cilium".into(),
            network: "pods".into(),
            name: name.into(),
            addresses: vec![address],
            age_ms: 90_000,
            ..Claim::default()
        }
    }

    #[test]
    fn a_row_says_whose_it_is_and_what_becomes_of_it() {
        let mut all = [
            claim("router", "10.1.0.2/24"),
            Claim { lapses_at_ms: 121_000, lease_seconds: 90, ..claim("health", "10.1.0.3/24") },
            Claim { lapses_at_ms: 3_661_000, reserved: true, ..claim("ingress\u{7}", "fd00::3/64") },
        ];
        all[0].addresses[0].leaving = true;
        let standings = [(500, 0, false), (900, 2, false), (0, 0, true)];
        let standings = standings.map(|(last_heard_ms, watches, orphaned)| AgentStanding {
            last_heard_ms,
            watches,
            orphaned,
        });
        let answer = ListAllClaimsResponse { claims: all.into(), standings: standings.into() };
        insta::assert_snapshot!(claims(&answer, 60_500), @r"
        AGENT   NETWORK  NAME          ADDRESSES    AGE     LAST HEARD              WATCHING  STATE
        cilium  pods     router        10.1.0.2/24  1m 30s  1m ago                  no        in use, in a range that is leaving
        cilium  pods     health        10.1.0.3/24  1m 30s  now                     yes       in use, lease ends in 1m
        cilium  pods     ingress\u{7}  fd00::3/64   1m 30s  before tenured started  no        reserved since the reboot, for 1h; orphaned: its agent is not configured
        ");
        let older = ListAllClaimsResponse { standings: Vec::new(), ..answer };
        assert!(claims(&older, 60_500).contains(" 1m 30s  -           -         in use"));
    }

    #[test]
    fn a_release_says_what_it_had() {
        let said = |applied, claim| released(&ReleasedClaim { applied, claim });
        insta::assert_snapshot!(said(false, Some(claim("router", "10.1.0.2/24"))), @"
        claim router of cilium on pods (10.1.0.2/24) would be released
        dry run; pass --apply to release it
        ");
        insta::assert_snapshot!(said(true, Some(claim("router", "10.1.0.2/24"))), @"claim router of cilium on pods (10.1.0.2/24) is released");
        insta::assert_snapshot!(said(true, None), @"no such claim: nothing to release");
    }
}
