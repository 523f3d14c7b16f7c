//! Rows of another IPAM: by what the ledger knows them, and what a DEL says about them.

use std::sync::{Arc, Mutex};

use tenure_engine::Imported;
use tenure_engine::ports::{Answer, Compared, IsKnown, OtherIpams};

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

/// Another IPAM that notes how many networks had been removed at each comparison.
#[derive(Default)]
struct Removals(Mutex<Vec<u64>>);

impl OtherIpams for Removals {
    fn is_unchanged(&self, compared: &Compared) -> bool {
        self.0.lock().unwrap().push(compared.removals);
        true
    }

    fn look<'a>(&'a self, _: &'a Compared, _: IsKnown) -> Answer<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A network that was removed has forgotten what it knew.
#[tokio::test]
async fn a_comparison_is_told_how_many_networks_were_removed_before() {
    let (bench, removals) = (Bench::new(8, 8), Arc::new(Removals::default()));
    bench.engine.compare_with_others(Arc::clone(&removals) as _);
    for number in 1..=3 {
        bench.address(number).await.unwrap();
        bench.engine.del(bench.del(number)).await.unwrap();
        assert!(bench.engine.remove_network(&network(), true).await.unwrap());
    }
    assert_eq!(*removals.0.lock().unwrap(), [0, 1, 2]);
}
