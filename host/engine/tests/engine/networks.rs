//! Networks that are defined, changed and removed while other requests read or change them.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tenure_engine::{Bounds, Define, Engine, NetworkBounds, Settings};
use tenure_ledger::{Chooser, Page};
use tenure_types::{Definer, ErrorCode, NetworkConfig, NetworkName, PolicyName};

use crate::support::{Bench, activate, fits, network, owner, poll_once};

fn define(name: &str, subnet: &str) -> Define {
    Define {
        network: NetworkName::new(name).unwrap(),
        policy: PolicyName::new("first").unwrap(),
        config: Arc::new(NetworkConfig { ipam: subnet.to_owned(), attributes: Vec::new() }),
        by: Definer::Operator,
        apply: true,
        change_ranges: true,
    }
}

/// The removed networks in a snapshot whose log begins at this place.
fn gone(bench: &Bench, first: u64) -> BTreeMap<String, u64> {
    let gone = |page| match page {
        Page::Gone { network, removed } => Some((network.to_string(), removed.through)),
        Page::Book(_) | Page::Node(_) => None,
    };
    bench.engine.images().pages(first).filter_map(gone).collect()
}

#[tokio::test]
async fn a_network_is_removed_when_it_holds_nothing_and_may_be_defined_anew() {
    let bench = Bench::new(8, 8);
    let engine = &bench.engine;
    bench.address(1).await.unwrap();
    let in_use = engine.remove_network(&network(), true).await.unwrap_err();
    assert_eq!(in_use.code, ErrorCode::NetworkInUse);
    engine.del(bench.del(1)).await.unwrap();
    assert_eq!(engine.remove_network(&network(), false).await, Ok(true), "a dry run");
    assert!(engine.book(&network()).await.is_some());
    assert_eq!(engine.remove_network(&network(), true).await, Ok(true));
    assert!(engine.book(&network()).await.is_none());
    assert_eq!(engine.remove_network(&network(), true).await, Ok(false), "there is none");

    bench.tick(1);
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.3", "what it had is still cooling down");
    // Neither a second removal nor a snapshot whose log begins behind it ends the cooldown.
    engine.del(bench.del(1)).await.unwrap();
    assert_eq!(engine.remove_network(&network(), true).await, Ok(true));
    let place = bench.journal.facts().len() as u64;
    assert_eq!(gone(&bench, place + 1), BTreeMap::from([("net".to_owned(), place)]));
    assert_eq!(bench.address(2).await.unwrap(), "10.0.0.4");
    bench.tick(30_000);
    assert_eq!(bench.address(3).await.unwrap(), "10.0.0.2", "it is over");
    engine.look_at_networks();
    assert_eq!(gone(&bench, place + 1), BTreeMap::new(), "and forgotten");
}

/// The address of a network that is gone comes to another with a range, when that is defined or later.
#[tokio::test]
async fn what_cools_in_a_removed_network_cools_in_the_next_that_has_the_range() {
    let bench = Bench::new(8, 8);
    let engine = &bench.engine;
    assert_eq!(bench.address(1).await.unwrap(), "10.0.0.2");
    engine.del(bench.del(1)).await.unwrap();
    assert_eq!(engine.remove_network(&network(), true).await, Ok(true));
    let other = NetworkName::new("other").unwrap();
    for subnet in ["10.1.0.0/29", "10.0.0.0/29"] {
        engine.define_network(&define("other", subnet)).await.unwrap();
    }
    let cooling = |book: &tenure_ledger::Book| -> Vec<String> {
        book.cooling_addresses().map(|(address, _)| address.to_string()).collect()
    };
    let book = engine.book(&other).await.unwrap();
    assert_eq!(cooling(&book), ["10.0.0.2"]);
    // Also after its removal, and a restart from a snapshot.
    assert_eq!(engine.remove_network(&other, true).await, Ok(true));
    let mut removed = tenure_ledger::RemovedNetworks::default();
    for page in engine.images().pages(u64::MAX) {
        if let Page::Gone { network, removed: of } = page {
            removed.restore(network, of);
        }
    }
    assert_eq!(removed.names().map(ToString::to_string).collect::<Vec<_>>(), ["net", "other"]);
}

/// A log that begins before the removal has facts of the network; one that begins after it has none.
#[tokio::test]
async fn a_snapshot_says_who_was_removed_since_its_log_began() {
    let bench = Bench::new(8, 8);
    let mut places = BTreeMap::new();
    for name in ["a", "b"] {
        bench.engine.define_network(&define(name, "10.0.0.0/29")).await.unwrap();
        bench.engine.remove_network(&NetworkName::new(name).unwrap(), true).await.unwrap();
        places.insert(name.to_owned(), bench.journal.facts().len() as u64);
    }
    let (a, b) = (places["a"], places["b"]);
    assert_eq!(gone(&bench, a), places);
    assert_eq!(gone(&bench, a + 1), BTreeMap::from([("b".to_owned(), b)]));
    assert_eq!(
        gone(&bench, 1),
        BTreeMap::from([("b".to_owned(), b)]),
        "no later log begins earlier than this one"
    );
    assert_eq!(gone(&bench, b + 1), BTreeMap::new());
}

/// Regression: an empty entry stayed in the map for ever and counted as a network.
#[tokio::test]
async fn nothing_stays_of_a_network_that_is_removed_while_somebody_asks_for_it() {
    let bench = Bench::new(8, 8);
    bench.engine.define_network(&define("net", "10.0.0.0/29")).await.unwrap();
    bench.journal.hold();
    let name = network();
    {
        let mut remove = pin!(bench.engine.remove_network(&name, true));
        assert!(poll_once(remove.as_mut()).is_pending());
        let mut del = pin!(bench.engine.del(bench.del(1)));
        assert!(poll_once(del.as_mut()).is_pending());
        bench.journal.resolve(&Ok(()));
        assert_eq!(remove.await, Ok(true));
        del.await.unwrap();
    }
    for name in ["a", "b", "c"] {
        bench.engine.define_network(&define(name, "10.0.0.0/29")).await.unwrap();
    }
}

/// Two entries of one network would hand out each address twice.
#[tokio::test]
async fn a_network_is_one_and_the_same_for_all_who_wait_for_its_first_turn() {
    let bench = Bench::new(1, 8);
    let mut elsewhere = bench.add(1);
    elsewhere.request.network = NetworkName::new("elsewhere").unwrap();
    bench.journal.hold();
    let mut busy = pin!(bench.engine.add(elsewhere, fits));
    assert!(poll_once(busy.as_mut()).is_pending());
    let mut waits = {
        let mut leaves = pin!(bench.engine.add(bench.add(2), fits));
        assert!(poll_once(leaves.as_mut()).is_pending());
        let mut waits = Box::pin(bench.engine.add(bench.add(3), fits));
        assert!(poll_once(waits.as_mut()).is_pending());
        waits
    };
    bench.journal.resolve(&Ok(()));
    busy.await.unwrap();
    assert!(waits.as_mut().await.is_ok());
    assert!(bench.engine.check(&network(), &owner(3)).await.is_ok());
    assert_eq!(bench.address(4).await.unwrap(), "10.0.0.3");
}

#[tokio::test]
async fn another_limit_of_networks_takes_effect_at_once() {
    let bench = Bench::new(8, 8);
    let define = async |name: &str| {
        bench.engine.define_network(&define(name, "10.0.0.0/29")).await.map(drop).map_err(|error| error.code)
    };
    for name in ["a", "b", "c"] {
        assert_eq!(define(name).await, Ok(()));
    }
    assert_eq!(define("d").await, Err(ErrorCode::TooManyNetworks));
    bench.engine.set(Settings { networks: 4, ..bench.engine.settings().as_ref().clone() });
    assert_eq!(define("d").await, Ok(()));
}

/// Regression: a definition read the operator's choice before it waited for its turn, and then overwrote a newer
/// choice.
#[tokio::test]
async fn what_an_operator_chooses_while_a_definition_waits_stands() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let (name, last) = (network(), PolicyName::new("last").unwrap());
    let wanted = define("net", "10.0.0.0/29");
    // Without the suite, which gives way to other tasks, it waits for its turn at once.
    let chosen = tenure_engine::Activate { unchecked: true, ..activate("last") };
    let mut activate = pin!(bench.engine.activate(&chosen));
    let mut define = pin!(bench.engine.define_network(&wanted));
    {
        let mut stalled = pin!(bench.engine.add(bench.add_with(2, "stalled", "10.0.0.0/29"), fits));
        assert!(poll_once(stalled.as_mut()).is_pending());
        assert!(poll_once(activate.as_mut()).is_pending());
        assert!(poll_once(define.as_mut()).is_pending());
    }
    activate.await.unwrap();
    assert_eq!(define.await.unwrap().after.name, last);
    let serves = bench.engine.images().pages(1).find_map(|page| match page {
        Page::Node(node) => node.choices.of(&name).map(|served| served.now.clone()),
        Page::Book(_) | Page::Gone { .. } => None,
    });
    let serves = serves.unwrap();
    assert_eq!((&serves.policy.name, serves.by), (&last, Chooser::Operator));
}

/// Each reads the other's ranges while it changes its own.
#[test]
fn two_networks_that_want_their_ranges_for_themselves_may_change_at_once() {
    let bench = Bench::new(8, 8);
    let exclusive = NetworkBounds { exclusive: true, ..NetworkBounds::default() };
    let of = |name: &str| (NetworkName::new(name).unwrap(), exclusive.clone());
    let bounds = Arc::new(Bounds { networks: [of("a"), of("b")].into(), ..Bounds::default() });
    bench.engine.set(Settings { bounds, ..bench.engine.settings().as_ref().clone() });
    let (done, ends) = mpsc::channel();
    for (name, third) in [("a", 1), ("b", 2)] {
        let (engine, done): (Arc<Engine>, _) = (Arc::clone(&bench.engine), done.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            for round in 0..2_000 {
                let subnet = format!("10.0.{third}.{}/28", (round % 2) * 16);
                runtime.block_on(engine.define_network(&define(name, &subnet))).unwrap();
            }
            done.send(()).unwrap();
        });
    }
    for _ in 0..2 {
        ends.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    let overlapping = define("a", "10.0.2.0/24");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let refused = runtime.block_on(bench.engine.define_network(&overlapping)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::OutOfBounds);
    assert!(runtime.block_on(bench.engine.check(&network(), &owner(1))).is_err());
}

#[tokio::test]
async fn a_network_that_is_removed_while_a_snapshot_is_taken_is_in_it_as_a_removed_one() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let pages = bench.engine.images().pages(1);
    bench.engine.del(bench.del(1)).await.unwrap();
    assert!(bench.engine.remove_network(&network(), true).await.unwrap());
    let gone: Vec<_> = pages.filter(|page| matches!(page, Page::Gone { .. })).collect();
    assert_eq!(gone.len(), 1, "its address cools down");
}

#[tokio::test]
async fn a_status_fails_for_a_network_beyond_the_limit() {
    let bench = Bench::new(8, 8);
    let status = async |network: &str| {
        let add = bench.add(1);
        let network = NetworkName::new(network).unwrap();
        bench.engine.status(&network, &add.policy, &add.config).await.map_err(|error| error.code)
    };
    bench.engine.set(Settings { networks: 1, ..bench.engine.settings().as_ref().clone() });
    assert_eq!(status("net").await, Ok(()));
    bench.address(1).await.unwrap();
    assert_eq!((status("net").await, status("other").await), (Ok(()), Err(ErrorCode::Unavailable)));
}
