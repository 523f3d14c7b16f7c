//! Rows of another IPAM: by what the ledger knows them, and what a DEL says about them.

use std::sync::{Arc, Mutex};

use tenure_engine::ports::{Answer, Compared, IsKnown, OtherIpams};
use tenure_engine::{Claim, Imported};

use tenure_fixtures::ports::{ManualJournal, policy};
use tenure_ledger::LedgerFact;
use tenure_types::{ErrorCode, NetworkName};

use super::{Other, claim};
use crate::support::{Bench, network, owner};

#[tokio::test]
async fn a_row_that_was_imported_is_known_by_its_claim_also_when_it_names_nobody() {
    let (bench, other) = (Bench::new(8, 8), Arc::new(Other::default()));
    bench.engine.compare_with_others(Arc::clone(&other) as _);
    bench.moves("a", &[claim(1, "10.0.0.2", Some(5))]).await;
    *other.0.lock().unwrap() = vec![("10.0.0.2", "5", 0)];
    assert_eq!(bench.address(7).await.unwrap(), "10.0.0.3");
    // It has ended.
    bench.passes(20);
    bench.engine.del(bench.del(1)).await.unwrap();
    assert_eq!(bench.address(8).await.unwrap(), "10.0.0.4");
    // And its network was removed.
    for number in [7, 8] {
        bench.engine.del(bench.del(number)).await.unwrap();
    }
    assert!(bench.engine.remove_network(&network(), true).await.unwrap());
    bench.address(9).await.unwrap();
    *other.0.lock().unwrap() = vec![("10.0.0.2", "6", 0)];
    assert!(bench.is_refused(10).await, "this is another one");
}

#[tokio::test]
async fn a_row_that_is_over_leaves_its_owner_what_it_has_got_since() {
    let bench = Bench::new(8, 8);
    bench.passes(1_000_000);
    let early = bench.engine.now().wall_ms;
    bench.passes(1_000_000);
    bench.engine.del(bench.del(1)).await.unwrap();
    bench.passes(1_000_000);
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2");
    assert_eq!(bench.moves("a", &[claim(1, "10.0.0.2", Some(early))]).await, [Imported::Released]);
    assert!(bench.engine.check(&network(), &owner(1)).await.is_ok());
}

#[tokio::test]
async fn a_del_that_began_before_a_row_was_made_does_not_end_it() {
    let bench = Bench::new(8, 8);
    let del = bench.del(1);
    bench.passes(1_000_000);
    let claimed = bench.engine.now().wall_ms;
    bench.passes(1_000_000);
    assert_eq!(bench.moves("a", &[claim(1, "10.0.0.2", Some(claimed))]).await, [Imported::Taken]);
    bench.engine.del(del).await.unwrap();
    assert!(bench.engine.check(&network(), &owner(1)).await.is_ok());
}

/// Another IPAM that notes, at each comparison, how many networks had been removed, and from where the network had moved over.
#[derive(Default)]
struct Removals(Mutex<Vec<(u64, usize)>>);

impl OtherIpams for Removals {
    fn is_unchanged(&self, compared: &Compared) -> bool {
        self.0.lock().unwrap().push((compared.removals, compared.sources.len()));
        true
    }

    fn look<'a>(&'a self, _: &'a Compared, _: IsKnown) -> Answer<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn can_read<'a>(&'a self, _: &'a NetworkName, _: &'a str) -> Answer<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A network that was removed has forgotten what it knew, but not from where it had moved over.
#[tokio::test]
async fn a_comparison_is_told_how_many_networks_were_removed_before() {
    let (bench, removals) = (Bench::new(8, 8), Arc::new(Removals::default()));
    bench.engine.compare_with_others(Arc::clone(&removals) as _);
    for number in 1..=3 {
        bench.address(number).await.unwrap();
        bench.engine.del(bench.del(number)).await.unwrap();
        assert!(bench.engine.remove_network(&network(), true).await.unwrap());
    }
    assert_eq!(*removals.0.lock().unwrap(), [(0, 0), (1, 0), (2, 0)]);
    bench.moves("a", &[]).await;
    bench.address(4).await.unwrap();
    bench.engine.del(bench.del(4)).await.unwrap();
    assert!(bench.engine.remove_network(&network(), true).await.unwrap());
    bench.address(5).await.unwrap();
    assert_eq!(removals.0.lock().unwrap()[3..], [(3, 1), (4, 1)], "the other IPAM may have served meanwhile");
    bench.engine.del(bench.del(5)).await.unwrap();
    assert!(bench.engine.remove_network(&network(), true).await.unwrap());
    assert_eq!(bench.abandons(None, true).await.unwrap_err().code, ErrorCode::UnknownNetwork);
    for (apply, of) in [(false, 1), (true, 1)] {
        assert_eq!(bench.abandons(Some("a"), apply).await, Ok(of), "a source outlives its network");
    }
    assert_eq!(bench.abandons(Some("a"), true).await.unwrap_err().code, ErrorCode::UnknownNetwork);
    bench.passes(3_600_000);
    bench.address(6).await.unwrap();
    assert_eq!(removals.0.lock().unwrap().last(), Some(&(5, 0)));
}

/// Nothing says whose the addresses are that the same import has found held.
#[tokio::test]
async fn a_row_that_is_over_ends_nothing_that_its_own_import_made() {
    let bench = Bench::new(8, 8);
    bench.passes(1_000_000);
    let early = bench.engine.now().wall_ms;
    bench.passes(1_000_000);
    bench.engine.del(bench.del(1)).await.unwrap();
    let unclear = Claim { owner: Err("its file is empty".to_owned()), ..claim(2, "10.0.0.2", Some(early)) };
    let outcomes = bench.moves("a", &[unclear, claim(1, "10.0.0.2", Some(early))]).await;
    assert_eq!(outcomes, [Imported::Unknown("its file is empty".to_owned()), Imported::Released]);
    assert_eq!(bench.engine.book(&network()).await.unwrap().allocations().len(), 1);
}

/// The files of other IPAMs have the wall clock's time only.
#[tokio::test]
async fn a_del_counts_by_the_wall_clock_as_it_is_now() {
    let bench = Bench::new(8, 8);
    let del = bench.del(1);
    bench.tick(1_000);
    bench.clock.set_wall(2_000_000);
    bench.engine.del(del).await.unwrap();
    let rows = [claim(1, "10.0.0.2", Some(1_998_900)), claim(1, "10.0.0.3", Some(1_999_100))];
    assert_eq!(bench.moves("a", &rows).await, [Imported::Released, Imported::Taken]);
}

/// An older program does not know moves: it only says that nothing is under way.
#[tokio::test]
async fn a_move_that_an_older_program_has_ended_keeps_nobody_waiting() {
    let bench = Bench::new(8, 8);
    drop(bench.begins_move("a").await);
    let mut state = bench.state(false);
    let last = bench.journal.facts().len() as u64;
    let ended = LedgerFact::Importing { network: network(), under_way: false, at: bench.now() };
    state.books[0].apply(last + 1, &ended).unwrap();
    let bench = Bench::of(state, ManualJournal::after(last + 1), |_| policy::catalogue(), 8, 8);
    bench.moves("b", &[]).await;
    assert_eq!(bench.address(7).await.unwrap(), "10.0.0.2");
}
