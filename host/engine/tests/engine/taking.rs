//! Takes from a network's supply, by the name of a range or by a label, and knowledge of the outside.

use tenure_engine::{Claim, Import, ImportOrigin, Place};
use tenure_types::{EffectKind, NetworkName, Object};

use crate::planning::{Cloud, added, pairs};
use crate::support::{Bench, fits, network};

#[tokio::test]
async fn a_range_is_taken_by_its_name_although_its_neighbour_is_in_use() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.engine.supply(&network(), &[added("b2", 2)]).await.unwrap();
    assert_eq!(bench.takes(1).await.unwrap(), "10.0.1.16");
    let range = |name| ("give-back-range", name);
    let refused = bench.takes_away(&cloud, range("b1")).await.unwrap_err();
    assert_eq!(refused, "1 addresses of range b1 have owners");
    assert_eq!(bench.takes_away(&cloud, range("b9")).await.unwrap_err(), "there is no range b9");
    bench.takes_away(&cloud, range("b2")).await.unwrap();
    assert_eq!(bench.staged(2), ["drains b2", "intended i-1"]);
}

/// Regression: the address was said to have an owner, whom nobody finds.
#[tokio::test]
async fn a_range_with_an_address_in_quarantine_is_not_taken_and_says_so() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    let address = "10.0.1.17".parse().unwrap();
    assert!(bench.engine.quarantine(&network(), address, "a printer answers").await.unwrap());
    let refused = bench.gives_back(&cloud, "b1").await.unwrap_err();
    assert_eq!(refused, "1 addresses of range b1 are in quarantine");
}

#[tokio::test]
async fn a_block_is_taken_although_its_neighbour_is_in_use() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    bench.engine.supply(&network(), &[added("b2", 2)]).await.unwrap();
    bench.takes(1).await.unwrap();
    bench.gives_back(&cloud, "b2").await.unwrap();
    assert_eq!(bench.staged(2), ["drains b2", "intended i-1"]);
}

#[tokio::test]
async fn a_block_that_has_no_ranges_is_taken() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    let intent = bench.gives_back(&cloud, "b9").await.unwrap();
    assert_eq!((intent.kind, intent.takes.len()), (EffectKind::GiveBackBlock, 0));
}

#[tokio::test]
async fn a_network_plans_if_its_policy_does() {
    let bench = Bench::with_block().await;
    assert!(bench.engine.plans(&network()).await);
    let mut add = bench.add(1);
    add.request.network = NetworkName::new("plain").unwrap();
    let plain = add.request.network.clone();
    assert!(!bench.engine.plans(&plain).await, "there is no such network");
    bench.engine.add(add, fits).await.unwrap();
    assert!(!bench.engine.plans(&plain).await);
}

#[tokio::test]
async fn what_is_gone_outside_is_forgotten_and_nothing_else() {
    let bench = Bench::new(8, 8);
    let object = |kind: &str, name: &str| Object {
        kind: kind.into(),
        name: name.into(),
        attributes: pairs(&[("uid", name)]),
    };
    let seen = [object("block", "b1"), object("block", "b2"), object("interface", "b1")];
    bench.engine.objects_seen(&seen, &[]).await.unwrap();
    bench.engine.objects_seen(&[], &[("block".into(), "b1".into())]).await.unwrap();
    let known: Vec<_> = bench.engine.objects().iter().map(|object| object.as_ref().clone()).collect();
    assert_eq!(known, seen[1..]);
    let staged = bench.journal.facts().len();
    bench.engine.objects_seen(&[], &[("interface".into(), "b2".into())]).await.unwrap();
    assert_eq!(bench.journal.facts().len(), staged, "it was not known");
}

/// The owner came by an import, and the block only after it.
#[tokio::test]
async fn a_block_is_kept_of_which_somebody_had_an_address_before_it_came() {
    let (bench, cloud) = (Bench::with_block().await, Cloud::default());
    let places = vec![Place { address: "10.0.2.17".parse().unwrap(), claim: String::new() }];
    let owner = Err("its file is empty".to_owned());
    let row = Claim { owner, places, pod: None, source: "files".to_owned(), claimed_at_ms: None };
    let origin = ImportOrigin { source: "files".to_owned(), ..ImportOrigin::default() };
    let import = Import { network: network(), origin, definition: None, exclusive: true, apply: true };
    let mut importing = bench.engine.begin_import(&import).await.unwrap();
    bench.engine.import(&mut importing, &[row]).await.unwrap();
    bench.engine.end_import(importing).await.unwrap();
    bench.engine.supply(&network(), &[added("b2", 2)]).await.unwrap();
    let refused = bench.gives_back(&cloud, "b2").await.unwrap_err();
    assert_eq!(refused, "1 addresses of range b2 have owners");
}
