//! How the policy in a network's shadow compares with the one that serves it.

use tenure_rpc::v1::ShadowPolicyResponse;

use super::cell::Cell;
use super::page::Page;
use super::parts::{ago, clean, policy};
use super::shown::Shown;
use super::table::Table;
use crate::report::Shadowed;

impl Shown for Shadowed {
    /// The counts, and examples of the differences.
    fn page(&self, now_ms: u64) -> Page {
        let Self { network, answer } = self;
        let network = clean(network);
        if answer.policy.is_none() {
            return format!("{network}: no policy runs in its shadow\n").into();
        }
        let since = ago(answer.since_ms, now_ms);
        let mut out =
            format!("{network}: {} runs in its shadow, since {since}\n", policy(answer.policy.as_ref()));
        if !answer.problem.is_empty() {
            out.push_str(&format!("It cannot follow now: {}\n", clean(&answer.problem)));
        }
        let compared = answer.same + answer.other_address + answer.other_refusal + answer.failed;
        let counts = [
            ("compared", compared),
            ("  same", answer.same),
            ("  other address", answer.other_address),
            ("  other refusal", answer.other_refusal),
            ("  failed", answer.failed),
            ("noticeably slower", answer.slower),
            ("not compared", answer.skipped),
        ];
        let counts = Table::of(&counts).column("DECISIONS", |of| of.0).number("COUNT", |of| of.1);
        let differences = Table::of(&answer.differences)
            .column("AGE", |of| Cell::ago(of.at_ms, now_ms))
            .name("OWNER", |of| clean(&of.owner))
            .prose("DIFFERENCE", |of| clean(&of.verdict))
            .prose("DECIDED", |of| clean(&of.served))
            .prose("IN THE SHADOW", |of| clean(&of.candidate));
        Page::from(out).section(counts).paragraph(figures(answer, compared)).section(differences)
    }
}

/// The figures of the comparison, a sentence each.
fn figures(answer: &ShadowPolicyResponse, compared: u64) -> String {
    let mut out = String::new();
    if answer.rehearsed > 0 {
        out.push_str(&format!(
            "At the beginning it answered {} of {} requests of live allocations.\n",
            answer.answered, answer.rehearsed
        ));
    }
    if answer.recorded + answer.unanswered > 0 {
        out.push_str(&format!(
            "{} of the compared decisions are recorded ones; it asks what the record lacks in {} more.\n",
            answer.recorded, answer.unanswered
        ));
    }
    let live = compared.saturating_sub(answer.recorded);
    if live > 0 {
        let mean = |sum: u64| sum.checked_div(live).unwrap_or_default();
        out.push_str(&format!(
            "A decision takes {} us on average, and {} us by the serving policy.\n",
            mean(answer.candidate_us),
            mean(answer.served_us)
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::{PolicyRef, ShadowDifference};

    use super::*;

    fn shadow(answer: ShadowPolicyResponse, now_ms: u64) -> Page {
        Shadowed { network: "pods".into(), answer }.page(now_ms)
    }

    #[test]
    fn a_shadow_shows_its_counts_and_differences() {
        insta::assert_snapshot!(shadow(ShadowPolicyResponse::default(), 0), @"pods: no policy runs in its shadow");
        let difference = |verdict: &str, candidate: &str| ShadowDifference {
            at_ms: 60_000,
            owner: "team-a/web-0".into(),
            verdict: verdict.into(),
            served: "10.1.0.2".into(),
            candidate: candidate.into(),
        };
        let answer = ShadowPolicyResponse {
            policy: Some(PolicyRef { name: "zones".into(), sha256: "9f86d081884c7d65".into() }),
            since_ms: 1_000,
            same: 90,
            other_address: 9,
            failed: 1,
            slower: 2,
            served_us: 1_200,
            candidate_us: 2_400,
            skipped: 3,
            rehearsed: 64,
            answered: 63,
            recorded: 40,
            unanswered: 5,
            problem: "its policy is still being compiled".into(),
            differences: vec![
                difference("other-address", "10.1.0.9"),
                difference("failed", "policy-failed: it trapped"),
            ],
            ..ShadowPolicyResponse::default()
        };
        insta::assert_snapshot!(shadow(answer, 61_000), @"
        pods: zones@9f86d081884c runs in its shadow, since 1m ago
        It cannot follow now: its policy is still being compiled

        DECISIONS          COUNT
        compared             100
          same                90
          other address        9
          other refusal        0
          failed               1
        noticeably slower      2
        not compared           3

        At the beginning it answered 63 of 64 requests of live allocations.
        40 of the compared decisions are recorded ones; it asks what the record lacks in 5 more.
        A decision takes 40 us on average, and 20 us by the serving policy.

        AGE     OWNER         DIFFERENCE     DECIDED   IN THE SHADOW
        1s ago  team-a/web-0  other-address  10.1.0.2  10.1.0.9
        1s ago  team-a/web-0  failed         10.1.0.2  policy-failed: it trapped
        ");
    }
}
