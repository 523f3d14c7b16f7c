//! The claims of agents.

use tenure_rpc::v1::{Claim, ClaimAddress, Family};

use super::cell::Cell;
use super::page::Page;
use super::parts::{clean, duration, joined, or_dash, pairs};
use super::shown::Shown;
use super::table::Table;
use crate::report::{ClaimList, ClaimOfAgent, ReleasedClaim};

impl Shown for ClaimList {
    fn page(&self, now_ms: u64) -> Page {
        let table = Table::of(&self.claims)
            .name("AGENT", |of| clean(&of.claim.agent))
            .wide("SCOPE", |of| or_dash(&clean(&of.claim.scope)))
            .name("NETWORK", |of| clean(&of.claim.network))
            .name("NAME", |of| clean(&of.claim.name))
            .list("ADDRESSES", |of| addresses(&of.claim))
            .column("AGE", |of| if is_lost(&of.claim) { "-".into() } else { Cell::age(of.claim.age_ms) })
            .prose("LAST HEARD", |of| last_heard(of, now_ms))
            .wide("WATCHING", watching)
            .prose("STATE", |of| state(of, now_ms))
            .wide("GENERATION", |of| of.claim.generation)
            .wide("RANGES", |of| ranges(&of.claim));
        Page::default().table_or(
            table,
            "No claims: `[agents.NAME]` in tenured.toml admits agents, which claim addresses on agent/agent.sock.\n",
        )
    }
}

impl Shown for ReleasedClaim {
    fn page(&self, _: u64) -> Page {
        let Some(claim) = &self.claim else {
            return Page::default().text("no such claim: nothing to release\n");
        };
        let what = format!(
            "claim {} of {} on {} ({})",
            clean(&claim.name),
            clean(&claim.agent),
            clean(&claim.network),
            addresses(claim)
        );
        Page::default().text(match self.applied {
            true => format!("{what} is released\n"),
            false => format!(
                "{what} would be released\ndry run; pass --generation {} --apply to release it\n",
                claim.generation
            ),
        })
    }
}

fn addresses(claim: &Claim) -> String {
    let addresses: Vec<_> = claim.addresses.iter().map(|address| address.address.clone()).collect();
    joined(&addresses, ", ")
}

/// The pools that the addresses are from, with the attributes of their ranges.
fn ranges(claim: &Claim) -> String {
    let from =
        |address: &ClaimAddress| format!("{} {}", clean(&address.pool), pairs(&address.range_attributes));
    let from: Vec<_> = claim.addresses.iter().map(|address| from(address).trim_end().to_owned()).collect();
    or_dash(&from.join(", "))
}

/// Shows the last contact of the agent.
fn last_heard(of: &ClaimOfAgent, now_ms: u64) -> Cell {
    match (of.is_reported, of.standing.watches, of.standing.last_heard_ms) {
        (false, ..) => "-".into(),
        (true, 0, 0) => Cell::valued("before tenured started".to_owned(), u64::MAX),
        (true, 0, at) => Cell::ago(at, now_ms),
        _ => Cell::valued("now".to_owned(), 0),
    }
}

fn watching(of: &ClaimOfAgent) -> &'static str {
    match (of.is_reported, of.standing.watches) {
        (false, _) => "-",
        (true, 0) => "no",
        _ => "yes",
    }
}

/// Whether the claim was lost with the state, and is still to be restored.
fn is_lost(claim: &Claim) -> bool {
    claim.generation == 0
}

/// Whether the agent is there, and what is to become of the claim.
fn state(ClaimOfAgent { claim, standing, .. }: &ClaimOfAgent, now_ms: u64) -> String {
    let left = duration(claim.lapses_at_ms.saturating_sub(now_ms));
    let mut state = match (claim.reserved, claim.lapses_at_ms) {
        _ if is_lost(claim) => "of the state that was lost, until its agent asks for it".to_owned(),
        (true, _) => format!("reserved since the reboot, for {left}"),
        (false, 0) => "in use".to_owned(),
        (false, _) => format!("in use, lease ends in {left}"),
    };
    if claim.addresses.iter().any(|address| address.leaving) {
        state.push_str(", in a range that is leaving");
    }
    for missing in &claim.missing_families {
        let family = match missing.family() {
            Family::Ipv4 => "IPv4",
            Family::Ipv6 => "IPv6",
            Family::Unspecified => "another family",
        };
        state.push_str(&format!(", without {family} ({})", clean(&missing.reason)));
    }
    if standing.orphaned {
        state.push_str("; orphaned: its agent is not configured");
    }
    state
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::{AgentStanding, ListAllClaimsResponse, MissingFamily};

    use super::*;

    fn claim(name: &str, address: &str) -> Claim {
        let address = ClaimAddress { address: address.into(), ..ClaimAddress::default() };
        Claim {
            agent: "cilium".into(),
            network: "pods".into(),
            name: name.into(),
            addresses: vec![address],
            age_ms: 90_000,
            generation: 7,
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
        all[0].scope = "routing".into();
        let family = Family::Ipv6.into();
        let reason = "pool-exhausted".into();
        all[1].missing_families = vec![MissingFamily { family, reason, message: String::new() }];
        let standings = [(500, 0, false), (900, 2, false), (0, 0, true)];
        let standings = standings.map(|(last_heard_ms, watches, orphaned)| AgentStanding {
            last_heard_ms,
            watches,
            orphaned,
        });
        let answer = ListAllClaimsResponse { claims: all.into(), standings: standings.into() };
        insta::assert_snapshot!(ClaimList::from(answer.clone()).page(60_500), @r"
        AGENT   NETWORK  NAME          ADDRESSES    AGE     LAST HEARD              STATE
        cilium  pods     router        10.1.0.2/24  1m 30s  1m ago                  in use, in a range that
                                                                                    is leaving
        cilium  pods     health        10.1.0.3/24  1m 30s  now                     in use, lease ends in
                                                                                    1m, without IPv6
                                                                                    (pool-exhausted)
        cilium  pods     ingress\u{7}  fd00::3/64   1m 30s  before tenured started  reserved since the
                                                                                    reboot, for 1h;
                                                                                    orphaned: its agent is
                                                                                    not configured
        ");
        let older = ListAllClaimsResponse { standings: Vec::new(), ..answer };
        assert!(ClaimList::from(older).page(60_500).to_string().contains(" 1m 30s  -           in use"));
    }

    #[test]
    fn a_claim_of_a_lost_state_says_so() {
        let lost = Claim { generation: 0, age_ms: 0, reserved: true, ..claim("router", "10.1.0.2") };
        let answer = ListAllClaimsResponse { claims: vec![lost], standings: vec![AgentStanding::default()] };
        insta::assert_snapshot!(ClaimList::from(answer).page(60_500), @r"
        AGENT   NETWORK  NAME    ADDRESSES  AGE  LAST HEARD              STATE
        cilium  pods     router  10.1.0.2   -    before tenured started  of the state that was lost, until
                                                                         its agent asks for it
        ");
    }

    #[test]
    fn a_release_says_what_it_had() {
        let said = |applied, claim| ReleasedClaim { applied, claim }.page(0);
        insta::assert_snapshot!(said(false, Some(claim("router", "10.1.0.2/24"))), @"
        claim router of cilium on pods (10.1.0.2/24) would be released
        dry run; pass --generation 7 --apply to release it
        ");
        insta::assert_snapshot!(said(true, Some(claim("router", "10.1.0.2/24"))), @"claim router of cilium on pods (10.1.0.2/24) is released");
        insta::assert_snapshot!(said(true, None), @"no such claim: nothing to release");
    }
}
