//! Moves from other IPAMs: how they end, and what DELs and new owners are judged against.

mod rows;

use std::sync::{Arc, Mutex};

use tenure_engine::ports::{Answer, Compared, IsKnown, OtherIpams, Reservation};
use tenure_engine::{Abandon, Claim, Import, ImportOrigin, Imported, Importing, Place};
use tenure_fixtures::ports::{ManualJournal, policy};
use tenure_ledger::{Fact, LedgerFact, MoveFact};
use tenure_types::{ConditionName, Error, ErrorCode, NetworkConfig, NetworkName, Owner, PolicyName};

use crate::support::{Bench, network, owner};

pub(crate) fn claim(number: u32, address: &str, claimed_at_ms: Option<u64>) -> Claim {
    let claim = claimed_at_ms.unwrap_or_default().to_string();
    let places = vec![Place { address: address.parse().unwrap(), claim }];
    Claim { owner: Ok(owner(number)), places, pod: None, source: "a".to_owned(), claimed_at_ms }
}

fn import(source: &str) -> Import {
    let config = Arc::new(NetworkConfig { ipam: "10.0.0.0/29".into(), attributes: Vec::new() });
    let definition = Some((PolicyName::new("first").unwrap(), config));
    let origin = ImportOrigin { source: source.to_owned(), by: "uid 0".to_owned(), entries: 9 };
    Import { network: network(), origin, definition, exclusive: true, apply: true }
}

/// Another IPAM, with its reservations: addresses, claims and the numbers of their owners.
#[derive(Default)]
pub(crate) struct Other(
    pub(crate) Mutex<Vec<(&'static str, &'static str, u32)>>,
    /// The configuration that was compared last.
    pub(crate) Mutex<String>,
);

impl OtherIpams for Other {
    fn is_unchanged(&self, _: &Compared) -> bool {
        false
    }

    fn look<'a>(&'a self, compared: &'a Compared, is_known: IsKnown) -> Answer<'a, ()> {
        compared.config.ipam.clone_into(&mut self.1.lock().unwrap());
        let unknown = |(address, claim, number): &&(&'static str, &'static str, u32)| {
            let owner: &dyn Fn() -> Option<Owner> = &|| (*number > 0).then(|| owner(*number));
            let claimed_at_ms = claim.parse().ok();
            !is_known(&Reservation { address: address.parse().unwrap(), claim, claimed_at_ms, owner })
        };
        let found = self.0.lock().unwrap().iter().find(unknown).copied();
        let found = found.map_or(Ok(()), |(address, ..)| Err(Error::new(ErrorCode::NotTakenOver, address)));
        Box::pin(std::future::ready(found))
    }

    fn can_read<'a>(&'a self, _: &'a NetworkName, source: &'a str) -> Answer<'a, ()> {
        let read = match source {
            "hidden" => Err(Error::new(ErrorCode::InputOutput, source)),
            _ => Ok(()),
        };
        Box::pin(std::future::ready(read))
    }
}

impl Bench {
    /// Time passes on both clocks.
    fn passes(&self, milliseconds: u64) {
        self.tick(milliseconds);
        self.clock.set_wall(self.now().wall_ms + milliseconds);
    }

    async fn begins_move(&self, source: &str) -> Importing {
        self.engine.begin_import(&import(source)).await.unwrap()
    }

    pub(crate) async fn moves(&self, source: &str, claims: &[Claim]) -> Vec<Imported> {
        let mut importing = self.begins_move(source).await;
        let outcomes = self.engine.import(&mut importing, claims).await.unwrap();
        self.engine.end_import(importing).await.unwrap();
        outcomes.into_iter().map(Result::unwrap).collect()
    }

    async fn abandons(&self, source: Option<&str>, apply: bool) -> Result<usize, Error> {
        let (source, reason) = (source.map(str::to_owned), "gone".to_owned());
        let abandon = Abandon { network: network(), source, reason, apply };
        let abandoned = self.engine.abandon_moves(&abandon).await?;
        Ok(abandoned.moves.len() + abandoned.source.iter().len())
    }

    pub(crate) fn unfinished(&self) -> Vec<String> {
        self.engine.look_at_networks();
        let all = self.engine.conditions().list();
        let all = all.into_iter().filter(|condition| condition.name == ConditionName::MoveUnfinished);
        all.map(|condition| condition.message).collect()
    }

    pub(crate) async fn is_refused(&self, number: u32) -> bool {
        self.address(number).await.is_err_and(|refused| refused.code == ErrorCode::NotTakenOver)
    }
}

#[tokio::test]
async fn a_move_that_was_cut_off_ends_with_its_own_source_only() {
    let bench = Bench::new(8, 8);
    let mut cut_off = bench.begins_move("a").await;
    bench.engine.import(&mut cut_off, &[claim(1, "10.0.0.2", None)]).await.unwrap();
    assert!(bench.unfinished()[0].contains("in progress"), "{:?}", bench.unfinished());
    drop(cut_off);
    let told = bench.unfinished();
    assert!(told.len() == 1 && told[0].contains("from a, begun by uid 0"), "{told:?}");
    assert!(told[0].contains("interrupted after 1 of 9 entries"), "{told:?}");
    bench.moves("b", &[]).await;
    assert!(bench.is_refused(7).await, "another source says nothing about what is missing");
    bench.moves("a", &[]).await;
    assert!(bench.unfinished().is_empty());
    assert_eq!(bench.address(7).await.unwrap(), "10.0.0.3");
}

#[tokio::test]
async fn a_move_is_abandoned_by_an_operator_and_what_came_over_stays() {
    let bench = Bench::new(8, 8);
    assert_eq!(bench.abandons(None, true).await.unwrap_err().code, ErrorCode::UnknownNetwork);
    let (mut one, other) = (bench.begins_move("a").await, bench.begins_move("b").await);
    bench.engine.import(&mut one, &[claim(1, "10.0.0.2", None)]).await.unwrap();
    assert_eq!(bench.abandons(Some("a"), true).await.unwrap_err().code, ErrorCode::NetworkInUse);
    drop((one, other));
    assert_eq!((bench.abandons(None, false).await, bench.abandons(Some("c"), true).await), (Ok(2), Ok(0)));
    assert_eq!(bench.abandons(Some("a"), true).await, Ok(1));
    assert!(bench.is_refused(7).await, "the other move is open");
    assert_eq!((bench.abandons(None, true).await, bench.abandons(None, true).await), (Ok(1), Ok(0)));
    assert_eq!(
        (bench.address(7).await.unwrap(), bench.address(1).await.unwrap()),
        ("10.0.0.3".into(), "10.0.0.2".into())
    );
}

/// Regression: the network had then moved over from what nobody could compare with it, and was shut for good.
#[tokio::test]
async fn nothing_is_imported_from_what_the_network_cannot_be_compared_with() {
    let bench = Bench::new(8, 8);
    bench.engine.compare_with_others(Arc::new(Other::default()) as _);
    for apply in [false, true] {
        let import = Import { apply, ..import("hidden") };
        assert_eq!(bench.engine.begin_import(&import).await.unwrap_err().code, ErrorCode::InputOutput);
    }
    assert!(bench.unfinished().is_empty() && bench.journal.facts().is_empty());
    bench.moves("a", &[]).await;
}

#[tokio::test]
async fn an_operator_lets_go_of_a_source_once_no_move_of_it_is_open() {
    let bench = Bench::new(8, 8);
    bench.moves("a", &[claim(1, "10.0.0.2", None)]).await;
    drop(bench.begins_move("a").await);
    for of in [1, 1, 0] {
        assert_eq!(
            bench.abandons(Some("a"), true).await,
            Ok(of),
            "the open move, the source, and then nothing"
        );
    }
    assert_eq!(bench.abandons(None, true).await, Ok(0));
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2");
}

#[tokio::test]
async fn a_del_ends_what_an_import_brings_later_unless_that_began_after_it() {
    let bench = Bench::new(8, 8);
    bench.passes(1_000_000);
    let early = bench.engine.now().wall_ms;
    bench.passes(1_000_000);
    bench.engine.del(bench.del(1)).await.unwrap();
    bench.engine.del(bench.del(2)).await.unwrap();
    bench.passes(1_000_000);
    let late = bench.engine.now().wall_ms;
    let del = bench.del(3);
    bench.passes(1_000_000);
    let claims = [
        claim(1, "10.0.0.2", Some(early)),
        claim(2, "10.0.0.3", Some(late)),
        claim(3, "10.0.0.4", Some(early)),
    ];
    let outcomes = [Imported::Released, Imported::Taken, Imported::Taken];
    assert_eq!(bench.moves("a", &claims).await, outcomes);
    let again = [Imported::Released, Imported::Held, Imported::Held];
    assert_eq!(bench.moves("a", &claims).await, again);
    // It began before the import brought the row, and after the other IPAM gave out the address.
    bench.engine.del(del).await.unwrap();
    let book = bench.engine.book(&network()).await.unwrap();
    assert_eq!(book.allocations().len(), 1);
    assert!(
        book.is_settled("10.0.0.2".parse().unwrap(), &early.to_string()),
        "its file says nothing any more"
    );
}

#[tokio::test]
async fn new_owners_wait_until_the_ledger_accounts_for_what_others_have() {
    let bench = Bench::new(8, 8);
    let other = Arc::new(Other::default());
    bench.engine.compare_with_others(Arc::clone(&other) as _);
    bench.moves("a", &[claim(1, "10.0.0.2", Some(5))]).await;
    let set = |all: &[(&'static str, &'static str, u32)]| *other.0.lock().unwrap() = all.to_vec();
    set(&[("10.0.0.2", "5", 1)]);
    assert_eq!(bench.address(7).await.unwrap(), "10.0.0.3");
    for unknown in [("10.0.0.2", "6", 3), ("10.0.0.4", "5", 4), ("10.0.0.4", "", 0)] {
        set(&[("10.0.0.2", "5", 1), unknown]);
        assert!(bench.is_refused(8).await, "{unknown:?}");
        assert_eq!(bench.unfinished(), [unknown.0]);
        assert_eq!(bench.address(7).await.unwrap(), "10.0.0.3", "it has its address");
    }
    set(&[]);
    bench.engine.compare_again().await;
    assert!(bench.unfinished().is_empty(), "an operator has seen to it");
    // What has ended, what its owner has by another claim, and what a DEL has ended are accounted for.
    bench.passes(20);
    bench.engine.del(bench.del(1)).await.unwrap();
    bench.engine.del(bench.del(9)).await.unwrap();
    set(&[("10.0.0.2", "5", 1), ("10.0.0.3", "8", 7), ("10.0.0.5", "0", 9)]);
    assert_eq!(bench.address(8).await.unwrap(), "10.0.0.4");
}

/// Regression: the row of each pod that had ended after an export over ipamd's file shut the network.
#[tokio::test]
async fn a_pod_that_was_exported_to_ipamd_and_has_ended_is_accounted_for() {
    let bench = Bench::new(8, 8);
    let other = Arc::new(Other::default());
    bench.engine.compare_with_others(Arc::clone(&other) as _);
    bench.moves("ipamd /ipam.json", &[]).await;
    assert_eq!(bench.address(7).await.unwrap(), "10.0.0.2");
    let claim: &'static str = Box::leak(bench.engine.now().wall_ms.to_string().into_boxed_str());
    *other.0.lock().unwrap() = vec![("10.0.0.2", claim, 7)];
    bench.passes(1_000);
    bench.engine.del(bench.del(7)).await.unwrap();
    assert_eq!(bench.address(8).await.unwrap(), "10.0.0.3");
}

/// Regression: the condition about a network that was removed, or that a mistake had named, stayed for ever.
#[tokio::test]
async fn a_refusal_is_forgotten_with_its_network_and_once_nobody_asks_for_one_that_there_is_not() {
    let bench = Bench::new(8, 8);
    let other = Arc::new(Other::default());
    bench.engine.compare_with_others(Arc::clone(&other) as _);
    other.0.lock().unwrap().push(("10.0.0.4", "5", 4));
    assert!(bench.is_refused(8).await);
    let told = async || {
        bench.engine.compare_again().await;
        bench.unfinished().len()
    };
    bench.tick(599_000);
    assert_eq!(told().await, 1, "a pod may be tried again");
    assert!(bench.is_refused(8).await);
    bench.tick(2_000);
    assert_eq!(told().await, 1, "it was asked for again");
    bench.tick(600_000);
    assert_eq!(told().await, 0);
    bench.moves("a", &[]).await;
    assert!(bench.is_refused(8).await);
    bench.tick(600_000);
    assert_eq!(told().await, 1, "it exists");
    bench.engine.remove_network(&network(), true).await.unwrap();
    assert!(bench.unfinished().is_empty());
}

#[tokio::test]
async fn only_what_an_import_may_bring_is_remembered_and_only_if_it_can_be() {
    let bench = Bench::new(8, 8);
    let remembered = || {
        let deleted = |fact: &Fact| matches!(fact, Fact::Moves(MoveFact::Deleted { .. }));
        bench.journal.facts().iter().filter(|fact| deleted(fact)).count()
    };
    bench.address(1).await.unwrap();
    bench.tick(1);
    bench.engine.del(bench.del(1)).await.unwrap();
    assert_eq!(remembered(), 0, "it was assigned here");
    bench.engine.del(bench.del(1)).await.unwrap();
    assert_eq!(remembered(), 1);
    bench.moves("a", &[claim(2, "10.0.0.4", None)]).await;
    bench.tick(1);
    bench.engine.del(bench.del(2)).await.unwrap();
    assert_eq!(remembered(), 2, "an import may bring it again once the network was removed");
}

/// Regression: the address stayed with an owner that had been deleted if the daemon was killed in between.
#[tokio::test]
async fn a_row_that_is_over_comes_and_ends_in_one_step() {
    let bench = Bench::new(8, 8);
    bench.passes(1_000_000);
    let early = bench.engine.now().wall_ms;
    bench.passes(1_000_000);
    bench.engine.del(bench.del(1)).await.unwrap();
    assert_eq!(bench.moves("a", &[claim(1, "10.0.0.2", Some(early))]).await, [Imported::Released]);
    let count = |facts: &[Fact], wanted: fn(&LedgerFact) -> bool| {
        facts.iter().filter(|fact| matches!(fact, Fact::Ledger(fact) if wanted(fact))).count()
    };
    for facts in bench.journal.prefixes() {
        let came = count(&facts, |fact| matches!(fact, LedgerFact::Allocated(_)));
        let ended = count(&facts, |fact| matches!(fact, LedgerFact::Released { .. }));
        assert_eq!(came, ended, "a crash may come here: {facts:?}");
    }
}

/// An older program that was killed between the two steps has left such a row.
#[tokio::test]
async fn a_row_that_came_without_its_end_ends_when_it_is_imported_again() {
    let bench = Bench::new(8, 8);
    bench.passes(1_000_000);
    let early = bench.engine.now().wall_ms;
    let row = [claim(1, "10.0.0.2", Some(early))];
    assert_eq!(bench.moves("a", &row).await, [Imported::Taken]);
    bench.passes(1_000_000);
    let at = bench.engine.now();
    // A DEL that the ledger knows of, and that has not ended the allocation.
    let deleted = Fact::from(MoveFact::Deleted { network: network(), owner: owner(1), at });
    let mut state = bench.state(false);
    let last = bench.journal.facts().len() as u64;
    state.node.apply(last + 1, &deleted);
    let bench = Bench::of(state, ManualJournal::after(last + 1), |_| policy::catalogue(), 8, 8);
    bench.passes(3_000_000);
    assert_eq!(bench.moves("a", &row).await, [Imported::Released]);
    assert_eq!(bench.engine.book(&network()).await.unwrap().allocations().len(), 0);
}

/// Regression: the row counted as released, and its address stayed with the unknown owner.
#[tokio::test]
async fn a_row_whose_owner_has_ended_ends_what_an_unknown_owner_has_for_it() {
    let bench = Bench::new(8, 8);
    bench.passes(1_000_000);
    let early = bench.engine.now().wall_ms;
    assert_eq!(bench.address(7).await.unwrap(), "10.0.0.2");
    let outside = |claimed| claim(1, "10.9.0.2", Some(claimed));
    let rows = [outside(early), claim(3, "10.0.0.2", Some(early))];
    let are_unknown =
        |outcomes: Vec<Imported>| outcomes.iter().all(|outcome| matches!(outcome, Imported::Unknown(_)));
    assert!(are_unknown(bench.moves("a", &rows).await));
    bench.passes(1_000_000);
    bench.engine.del(bench.del(1)).await.unwrap();
    bench.engine.del(bench.del(3)).await.unwrap();
    bench.passes(1_000_000);
    let count = async || bench.engine.book(&network()).await.unwrap().allocations().len();
    let elsewhere = Claim { source: "b".to_owned(), ..outside(early) };
    assert_eq!(bench.moves("b", &[elsewhere]).await, [Imported::Released]);
    assert_eq!(bench.moves("a", &[outside(early - 1)]).await, [Imported::Released]);
    assert_eq!(count().await, 3, "neither another source nor another claim says that this one is over");
    assert_eq!(bench.moves("a", &rows).await, [Imported::Released, Imported::Released]);
    assert_eq!(count().await, 1);
}
