//! Declarations while their policies work: whose turn it is meanwhile, what is asked again, and what becomes durable together.

mod noted;

use std::cell::Cell;

use futures_util::future::{join, join_all};
use tenure_engine::{Agent, Ask, Imported};
use tenure_ledger::{ClaimFact, Fact};
use tenure_types::ScopeName;

use self::noted::Noted;
use crate::claiming::{addresses, agent, ask, named};
use crate::moving::claim;
use crate::support::{Bench, poll_once};

impl Noted {
    /// Declares claims, and adds a pod once the policy is asked for the first of them; returns whom it was asked for.
    async fn declare_beside_a_pod(&self, policy: &str, asks: &[Ask], apply: bool) -> Vec<String> {
        let cilium = large();
        let declaring = self.bench.engine.declare(&cilium, asks, apply);
        let pod = async {
            while self.asked().is_empty() {
                tokio::task::yield_now().await;
            }
            self.pod("net", policy, "10.0.0.0/24", None).await;
        };
        let (declared, ()) = join(declaring, pod).await;
        assert_eq!(declared.unwrap().created.len(), asks.len());
        self.asked()
    }
}

/// An agent that may have many claims.
fn large() -> Agent {
    Agent { most: 1_000, ..agent("cilium") }
}

fn on(network: &str, name: &str) -> Ask {
    Ask { network: named(network), ..ask(name) }
}

#[tokio::test]
async fn a_pod_waits_for_one_claim_of_a_slow_policy_and_for_few_of_a_fast_one() {
    let asks = ["a", "b", "c"].map(ask);
    for (policy, apply, asked) in [
        ("fast", true, vec!["a", "b", "c", "pod"]),
        ("fast", false, vec!["a", "b", "c", "pod"]),
        // The pod got the address that was proposed for the first claim, which alone is asked for again.
        ("slow", true, vec!["a", "pod", "b", "c", "a"]),
        ("slow", false, vec!["a", "pod", "b", "c"]),
        // What it counts for a pod in between would void its proposals.
        ("counting-slowly", true, vec!["a", "b", "c", "pod"]),
    ] {
        let noted = Noted::of(policy, "10.0.0.0/24").await;
        assert_eq!(noted.declare_beside_a_pod(policy, &asks, apply).await, asked, "{policy}, {apply}");
        if apply {
            let book = noted.bench.engine.book(&named("net")).await.unwrap();
            assert_eq!(book.allocations().count(), 4);
        }
        if policy == "counting-slowly" {
            assert_eq!(noted.count().await, 4);
        }
    }
}

#[tokio::test]
async fn a_declaration_gets_its_addresses_however_many_pods_come() {
    let noted = Noted::of("slow", "10.0.0.0/22").await;
    let (cilium, asks, declared) = (large(), ["a", "b", "c"].map(ask), Cell::new(false));
    let declaring = async {
        let answer = noted.bench.engine.declare(&cilium, &asks, true).await;
        declared.set(true);
        assert_eq!(answer.unwrap().created.len(), 3);
    };
    let pods = async || {
        while !declared.get() && noted.asked().len() < 500 {
            noted.pod("net", "slow", "10.0.0.0/22", None).await;
        }
    };
    join(declaring, join_all((0..4).map(|_| pods()))).await;
    assert!(noted.asked().len() < 100, "{} requests came first", noted.asked().len());
}

#[tokio::test]
async fn a_policy_is_asked_once_for_each_claim_of_a_large_declaration_that_nobody_disturbs() {
    let noted = Noted::of("fast", "10.0.0.0/22").await;
    let asks: Vec<Ask> = (0..100).map(|number| ask(&format!("c{number:03}"))).collect();
    assert_eq!(noted.bench.engine.declare(&large(), &asks, true).await.unwrap().created.len(), 100);
    assert_eq!(noted.asked().len(), 100);
}

#[tokio::test]
async fn a_state_that_a_pod_has_changed_is_not_replaced_by_what_a_declaration_began_with() {
    let noted = Noted::of("counting", "10.0.0.0/24").await;
    noted.bench.define_with("other", "gated-a", "10.1.0.0/24").await;
    let (cilium, asks) = (large(), [ask("router"), on("other", "ingress")]);
    let mut declaring = Box::pin(noted.bench.engine.declare(&cilium, &asks, true));
    noted.until_asked(2, declaring.as_mut());
    noted.pod("net", "counting", "10.0.0.0/24", Some("10.0.0.9")).await;
    noted.open(0, 9);
    assert_eq!(declaring.await.unwrap().created.len(), 2);
    assert_eq!(noted.count().await, 2, "one for the pod, one for the claim");
}

/// An import asks no policy, so that the proposals stand, and one of them does not fit any more.
#[tokio::test]
async fn a_policy_that_keeps_a_state_is_asked_anew_for_all_once_one_of_its_proposals_does_not_fit() {
    let noted = Noted::of("counting", "10.0.0.0/29").await;
    noted.bench.define_with("other", "gated-a", "10.1.0.0/24").await;
    let (cilium, asks) = (large(), [ask("a"), ask("b"), on("other", "ingress")]);
    let mut declaring = Box::pin(noted.bench.engine.declare(&cilium, &asks, true));
    noted.until_asked(3, declaring.as_mut());
    assert_eq!(noted.bench.moves("files", &[claim(1, "10.0.0.2", None)]).await, [Imported::Taken]);
    noted.open(0, 9);
    assert_eq!(declaring.await.unwrap().created.len(), 3);
    assert_eq!(noted.asked(), ["a", "b", "ingress", "a", "b"]);
    assert_eq!(noted.count().await, 2);
}

#[tokio::test]
async fn what_a_declaration_has_planned_on_one_network_is_looked_at_again_after_it_waited_for_another() {
    let noted = Noted::new();
    noted.bench.define_with("a", "gated-a", "10.1.0.0/24").await;
    noted.bench.define_with("b", "gated-b", "10.2.0.0/24").await;
    let (cilium, asks) = (large(), [on("a", "router"), on("b", "ingress")]);
    let mut declaring = Box::pin(noted.bench.engine.declare(&cilium, &asks, true));
    noted.until_asked(1, declaring.as_mut());
    noted.open(0, 1);
    noted.until_asked(2, declaring.as_mut());
    // A pod has the turn of the first network while the policy of the second one answers.
    let mut pod = Box::pin(noted.pod("a", "gated-a", "10.1.0.0/24", Some("10.1.0.9")));
    noted.until_asked(3, pod.as_mut());
    noted.open(1, 1);
    (0..10).for_each(|_| assert!(poll_once(declaring.as_mut()).is_pending()));
    // Meanwhile another pod gets the address that is planned for the claim on the second one.
    noted.open(1, 1);
    noted.pod("b", "gated-b", "10.2.0.0/24", None).await;
    assert_eq!(noted.asked().len(), 4);
    noted.open(0, 9);
    noted.open(1, 9);
    let (declared, ()) = join(declaring, pod).await;
    let held: Vec<_> =
        declared.unwrap().created.iter().flat_map(addresses).map(|held| held.to_string()).collect();
    assert_eq!(held, ["10.1.0.2", "10.2.0.3"]);
}

/// The numbers of claims that the facts of the journal had made, after each group of them.
fn made(bench: &Bench) -> Vec<usize> {
    let is_made = |fact: &&Fact| matches!(fact, Fact::Claims(ClaimFact::Claimed(_)));
    bench.journal.prefixes().iter().map(|facts| facts.iter().filter(is_made).count()).collect()
}

/// A crash leaves all of it or nothing, however many claims the agent's other components have.
#[tokio::test]
async fn up_to_32_changes_on_several_networks_are_made_together() {
    let noted = Noted::of("fast", "10.0.0.0/24").await;
    noted.bench.define_with("other", "fast", "10.1.0.0/24").await;
    let scope = Some(ScopeName::new("router").unwrap());
    let router = Agent { scope: scope.clone(), ..large() };
    let others: Vec<Ask> = (0..40)
        .map(|number| {
            let mut ask = ask(&format!("r{number:02}"));
            ask.wish.claimant.scope.clone_from(&scope);
            ask
        })
        .collect();
    noted.bench.engine.declare(&router, &others, true).await.unwrap();
    let half = |network: &'static str| (0..16).map(move |number| on(network, &format!("c{number:02}")));
    let asks: Vec<Ask> = half("net").chain(half("other")).collect();
    noted.bench.engine.declare(&large(), &asks, true).await.unwrap();
    let made: Vec<usize> = made(&noted.bench).into_iter().filter(|made| *made > 40).collect();
    assert_eq!(made, [72]);
}

#[tokio::test]
async fn a_dry_run_counts_on_addresses_that_have_cooled_down_since_anybody_looked() {
    let noted = Noted::of("fast", "10.0.0.0/26").await;
    let asks = |letter: char| (0..40).map(|number| ask(&format!("{letter}{number:02}"))).collect::<Vec<_>>();
    noted.bench.engine.declare(&large(), &asks('a'), true).await.unwrap();
    noted.bench.engine.declare(&large(), &[], true).await.unwrap();
    let refused = noted.bench.engine.declare(&large(), &asks('b'), false).await;
    assert!(refused.is_err(), "they cool down");
    noted.bench.tick(30_000);
    assert_eq!(noted.bench.engine.declare(&large(), &asks('b'), false).await.unwrap().created.len(), 40);
}
