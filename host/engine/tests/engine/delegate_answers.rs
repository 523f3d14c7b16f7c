//! Results of delegates: addresses of both families, routes, bounds, and ranges that are left.

use std::sync::Arc;

use tenure_engine::{Ask, Bounds, Del, Gc, NetworkBounds, Supply};
use tenure_ledger::{Fact, Families, LedgerFact, Wish};
use tenure_types::cni::{Route, Success};
use tenure_types::{
    AssignedAddress, ContainerId, ErrorCode, InterfaceName, Owner, PoolName, Range, RangeName,
};

use crate::claiming::{agent, ask, named};
use crate::delegating::start;
use crate::support::{Bench, fits, network};

impl Bench {
    /// The ranges of the network, by pool.
    async fn ranges(&self) -> Vec<String> {
        let book = self.engine.book(&network()).await.unwrap();
        let of = |pool| book.ranges(pool).map(|view| view.range.name().to_string()).collect::<Vec<_>>();
        [of(0), of(1)].concat()
    }
}

fn range(name: &str) -> RangeName {
    RangeName::new(name).unwrap()
}

/// Regression: the routes were lost if the delegate gave the IPv6 address first, because the pools are in another order.
#[tokio::test]
async fn a_pod_gets_addresses_of_both_families_and_the_routes_in_whichever_order_they_are_given() {
    let (bench, foreign) = start().await;
    let routes = [Route::default_by("10.7.0.1".parse().unwrap())];
    foreign.gives_also("fd07::2/64", &routes);
    let granted = bench.engine.add(bench.delegated(1), fits).await.unwrap();
    let pool = |assigned: &AssignedAddress| assigned.source.pool.as_ref().unwrap().to_string();
    let pools: Vec<_> =
        granted.addresses.iter().map(|assigned| (assigned.ip().to_string(), pool(assigned))).collect();
    let expected = [("10.7.0.2", "ipv4"), ("fd07::2", "ipv6")];
    assert_eq!(pools, expected.map(|(ip, pool)| (ip.to_owned(), pool.to_owned())));
    assert_eq!(Success::of(granted.addresses.to_vec()).routes, routes);
    assert_eq!(bench.ranges().await, ["10.7.0.2-10.7.0.2", "fd07::2-fd07::2"]);
    bench.tick(1);
    bench.engine.del(bench.del(1)).await.unwrap();
    assert_eq!(bench.ranges().await, [""; 0]);
}

#[tokio::test]
async fn what_is_given_back_takes_no_other_range_with_it() {
    let (bench, foreign) = start().await;
    for number in 1..=3 {
        bench.engine.add(bench.delegated(number), fits).await.unwrap();
    }
    bench.tick(1);
    bench.engine.del(bench.del(2)).await.unwrap();
    assert_eq!(bench.ranges().await, ["10.7.0.2-10.7.0.2", "10.7.0.4-10.7.0.4"]);
    // While the delegate cannot take the rest back, somebody else adds ranges with the same addresses.
    foreign.fails(true);
    for number in [1, 3] {
        bench.engine.del(bench.del(number)).await.unwrap();
    }
    let pool = PoolName::new("ipv4").unwrap();
    let withdrawn = |name: &str| Supply::Withdraw { pool: pool.clone(), range: range(name) };
    let added = |first: &str, last: &str| {
        let subnet = "10.7.0.0/16".parse().unwrap();
        Range::new(subnet, first.parse().unwrap(), last.parse().unwrap(), None, 16).unwrap()
    };
    let add = |range: Range| Supply::Add { pool: pool.clone(), range: Box::new(range) };
    let changes = [
        withdrawn("10.7.0.2-10.7.0.2"),
        withdrawn("10.7.0.4-10.7.0.4"),
        add(added("10.7.0.2", "10.7.0.3")),
        add(added("10.7.0.4", "10.7.0.4").named(range("mine"))),
    ];
    bench.engine.supply(&network(), &changes).await.unwrap();
    foreign.fails(false);
    bench.tick(60_000);
    assert_eq!(bench.engine.tidy().await, 0);
    assert!(bench.engine.delegations().is_empty());
    assert_eq!(bench.ranges().await, ["10.7.0.2-10.7.0.3", "mine"]);
}

#[tokio::test]
async fn what_a_delegate_gives_anew_before_it_was_told_of_the_end_is_the_new_owners() {
    for (gateway, differs) in [("10.7.0.1", false), ("10.7.255.254", true)] {
        let (bench, foreign) = start().await;
        for number in 1..=2 {
            bench.engine.add(bench.delegated(number), fits).await.unwrap();
        }
        foreign.fails(true);
        bench.tick(1);
        bench.engine.del(bench.del(2)).await.unwrap();
        foreign.fails(false);
        foreign.next("10.7.0.3");
        foreign.gateway(gateway);
        let staged = bench.journal.facts().len();
        let granted = bench.engine.add(bench.delegated(3), fits).await.unwrap();
        assert_eq!(granted.addresses[0].address.to_string(), "10.7.0.3/16");
        assert_eq!(granted.addresses[0].gateway(), gateway.parse().ok(), "as it was given");
        let facts = bench.journal.facts().split_off(staged);
        let is_of_range = |fact: &&Fact| {
            matches!(fact, Fact::Ledger(LedgerFact::RangeRemoved { .. } | LedgerFact::RangeAdded { .. }))
        };
        assert_eq!(facts.iter().filter(is_of_range).count() > 0, differs, "only what differs is replaced");
        // The late end of the earlier owner takes nothing from the new one.
        bench.tick(60_000);
        assert_eq!(bench.engine.tidy().await, 0);
        assert_eq!(bench.ranges().await, ["10.7.0.2-10.7.0.2", "10.7.0.3-10.7.0.3"]);
    }
}

#[tokio::test]
async fn what_a_delegate_gives_out_of_bounds_is_refused_and_given_back() {
    let (bench, foreign) = start().await;
    let engine = &bench.engine;
    let bound = |name: &str, bounds: NetworkBounds| {
        let mut settings = engine.settings().as_ref().clone();
        settings.bounds = Arc::new(Bounds { networks: [(named(name), bounds)].into(), ..Bounds::default() });
        engine.set(settings);
    };
    let within = vec!["10.7.0.0/24".parse().unwrap()];
    bound("net", NetworkBounds { within, ..NetworkBounds::default() });
    foreign.next("10.7.9.9");
    let refused = engine.add(bench.delegated(1), fits).await.unwrap_err();
    assert_eq!((refused.code, foreign.given().len()), (ErrorCode::DelegateRejected, 0));
    assert_eq!(bench.ranges().await, [""; 0]);
    engine.add(bench.delegated(1), fits).await.unwrap();
    // So is what another network has for itself.
    bench.define("other", "10.8.0.0/29").await;
    bound("other", NetworkBounds { exclusive: true, ..NetworkBounds::default() });
    foreign.next("10.8.0.2");
    let refused = engine.add(bench.delegated(2), fits).await.unwrap_err();
    assert_eq!((refused.code, foreign.given()), (ErrorCode::DelegateRejected, vec!["c1".to_owned()]));
}

#[tokio::test]
async fn a_claim_that_a_delegate_gives_too_little_for_is_not_made_and_given_back() {
    let (bench, foreign) = start().await;
    let cilium = agent("cilium");
    let six = Families { ipv4: false, ipv6: true };
    let wanted = Ask { wish: Wish { families: six, ..Wish::default() }, ..ask("router") };
    let refused = bench.engine.ensure(&cilium, &wanted).await.unwrap_err();
    assert_eq!((refused.code, foreign.given().len()), (ErrorCode::AddressUnavailable, 0));
    let refused = bench.engine.declare(&cilium, std::slice::from_ref(&wanted), true).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::AddressUnavailable);
    assert_eq!(bench.engine.tidy().await, 0);
    assert!(foreign.given().is_empty() && bench.engine.claims_of(None).is_empty());
    foreign.gives_also("fd07::2/64", &[]);
    bench.engine.ensure(&cilium, &wanted).await.unwrap();
}

#[tokio::test]
async fn a_dry_run_of_a_declaration_asks_no_delegate() {
    let (bench, foreign) = start().await;
    let (cilium, wanted) = (agent("cilium"), [ask("router")]);
    let refused = bench.engine.declare(&cilium, &wanted, false).await.unwrap_err();
    assert_eq!((refused.code, foreign.calls().len()), (ErrorCode::ClaimInvalid, 0));
    bench.engine.declare(&cilium, &wanted, true).await.unwrap();
    let would = bench.engine.declare(&cilium, &wanted, false).await.unwrap();
    assert_eq!((would.created.len(), would.kept.len()), (0, 1), "nothing is missing");
}

/// Regression: a pod whose container id was that of a claim got what the delegate had given to the claim, or freed it.
#[tokio::test]
async fn a_pod_cannot_be_taken_for_a_claim() {
    let (bench, foreign) = start().await;
    bench.claimed("cilium", &ask("router")).await.unwrap();
    let [claim] = &foreign.given()[..] else { panic!("{:?}", foreign.given()) };
    let owner = |container: &str| Owner::Attachment {
        container: ContainerId::new(container).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    };
    for container in [claim.as_str(), "tenure-claim-x"] {
        let mut add = bench.delegated(1);
        add.request.owner = owner(container);
        let refused = bench.engine.add(add, fits).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidEnvironment);
        let why = "begins with tenure-claim-, which is reserved for the claims of agents";
        assert_eq!(refused.cause, format!("CNI_CONTAINERID {container} {why}"));
        let del = Del { owner: owner(container), ..bench.del(1) };
        bench.engine.del(del).await.unwrap();
    }
    assert_eq!(foreign.given(), std::slice::from_ref(claim), "the claim has what it had");
    // A runtime's list does not keep what a claim had.
    let valid = [(ContainerId::new("tenure-claim-x").unwrap(), InterfaceName::new("eth0").unwrap())];
    let gc = Gc { network: network(), valid: valid.into(), requested_at: bench.now() };
    bench.engine.gc(gc).await.unwrap();
    assert!(foreign.calls().contains(&format!("GC {claim}")), "{:?}", foreign.calls());
}

/// Regression: the answer was tried on a book without its quarantine.
#[tokio::test]
async fn an_address_in_quarantine_that_a_delegate_gives_is_refused_and_given_back() {
    let (bench, foreign) = start().await;
    let granted = bench.engine.add(bench.delegated(1), fits).await.unwrap();
    let address = granted.addresses[0].ip();
    assert!(bench.engine.quarantine(&network(), address, "a printer answers").await.unwrap());
    bench.tick(1);
    bench.engine.del(bench.del(1)).await.unwrap();
    // Also if the network was removed meanwhile.
    for removed in [false, true] {
        if removed {
            assert!(bench.engine.remove_network(&network(), true).await.unwrap());
        }
        foreign.next(&address.to_string());
        let refused = bench.engine.add(bench.delegated(2), fits).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::DelegateRejected, "{refused}");
        assert!(refused.cause.contains(&format!("{address} is in quarantine")), "{refused}");
        assert_eq!(foreign.given(), [""; 0]);
    }
    bench.engine.add(bench.delegated(2), fits).await.unwrap();
    // The network has the mark again, so that an operator sees it and can lift it; then the address is served.
    let book = bench.engine.book(&network()).await.unwrap();
    assert_eq!(book.quarantined().len(), 1);
    assert_eq!(&*book.quarantine_of(address).unwrap().reason, "a printer answers");
    assert!(bench.engine.lift(&network(), address, "the printer is gone").await.unwrap());
    foreign.next(&address.to_string());
    let granted = bench.engine.add(bench.delegated(3), fits).await.unwrap();
    assert_eq!(granted.addresses[0].ip(), address);
}
