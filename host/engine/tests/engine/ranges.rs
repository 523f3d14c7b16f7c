//! Ranges that come and go, by a definition or by the host's supply.

use std::sync::Arc;

use tenure_engine::{Bounds, Define, NetworkBounds, Redefined, Settings, Supply};
use tenure_types::{
    Definer, Error, ErrorCode, NetworkConfig, NetworkName, PolicyName, PoolName, Range, RangeName,
};

use crate::planning;
use crate::support::{Bench, network};

fn pool() -> PoolName {
    PoolName::new("blocks").unwrap()
}

fn block() -> RangeName {
    RangeName::new("block").unwrap()
}

/// Supplies four addresses of this subnet.
fn added(third: u8) -> Supply {
    let at = |last: u8| std::net::IpAddr::from([10, 0, third, last]);
    let range = Range::new(format!("10.0.{third}.0/24").parse().unwrap(), at(16), at(19), None, 24).unwrap();
    Supply::Add { pool: pool(), range: Box::new(range.named(block())) }
}

impl Bench {
    pub(crate) async fn defines(
        &self,
        name: &str,
        policy: &str,
        ipam: &str,
        change_ranges: bool,
    ) -> Result<Redefined, Error> {
        let define = Define {
            network: NetworkName::new(name).unwrap(),
            policy: PolicyName::new(policy).unwrap(),
            config: Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() }),
            by: Definer::Operator,
            apply: true,
            change_ranges,
        };
        self.engine.define_network(&define).await
    }

    fn bounds(&self, name: NetworkName, bounds: NetworkBounds) {
        let bounds = Arc::new(Bounds { networks: [(name, bounds)].into(), ..Bounds::default() });
        self.engine.set(Settings { bounds, ..self.engine.settings().as_ref().clone() });
    }

    async fn supplies(&self, changes: &[Supply]) -> Result<(), ErrorCode> {
        self.engine.supply(&network(), changes).await.map_err(|error| error.code)
    }
}

/// The policy `blocks` defines a second pool if its configuration is a subnet.
#[tokio::test]
async fn ranges_that_only_come_or_only_go_are_a_change_of_the_ranges() {
    let bench = Bench::new(8, 8);
    bench.defines("net", "blocks", "", false).await.unwrap();
    for (ipam, added, removed) in [("10.9.0.0/29", 1, 0), ("", 0, 1)] {
        let refused = bench.defines("net", "blocks", ipam, false).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::RangesWouldChange, "{ipam:?}");
        let changed = bench.defines("net", "blocks", ipam, true).await.unwrap();
        assert_eq!((changed.added.len(), changed.removed.len()), (added, removed), "{ipam:?}");
    }
}

#[tokio::test]
async fn what_the_host_supplies_stays_within_the_operators_bounds() {
    let bench = Bench::new(8, 8);
    bench.defines("net", "blocks", "", false).await.unwrap();
    let within = vec!["10.0.0.0/23".parse().unwrap()];
    bench.bounds(network(), NetworkBounds { within, ..NetworkBounds::default() });
    assert_eq!(bench.supplies(&[added(2)]).await, Err(ErrorCode::OutOfBounds));
    assert_eq!(bench.supplies(&[added(1)]).await, Ok(()));
    let may_be = |third| bench.engine.check_bounds(&network(), &[planning::block("any", third)]);
    assert_eq!([1, 2].map(|third| may_be(third).is_ok()), [true, false], "it can be asked before");
}

#[tokio::test]
async fn what_the_host_supplies_does_not_overlap_an_exclusive_network() {
    let bench = Bench::new(8, 8);
    bench.defines("net", "blocks", "", false).await.unwrap();
    bench.defines("own", "first", "10.0.2.0/24", false).await.unwrap();
    let own = NetworkName::new("own").unwrap();
    bench.bounds(own, NetworkBounds { exclusive: true, ..NetworkBounds::default() });
    assert_eq!(bench.supplies(&[added(2)]).await, Err(ErrorCode::OutOfBounds));
    assert_eq!(bench.supplies(&[added(1)]).await, Ok(()));
}

#[tokio::test]
async fn a_change_of_the_supply_builds_on_those_before_it() {
    let bench = Bench::new(8, 8);
    bench.defines("net", "blocks", "", false).await.unwrap();
    let withdrawn = Supply::Withdraw { pool: pool(), range: block() };
    let drains = Supply::Drain { pool: pool(), range: block(), draining: true };
    assert_eq!(bench.supplies(&[added(1), withdrawn, added(2), drains]).await, Ok(()));
    let book = bench.engine.book(&network()).await.unwrap();
    let ranges: Vec<_> = book.ranges(0).map(|view| (view.range.first().to_string(), view.draining)).collect();
    assert_eq!(ranges, [("10.0.2.16".to_owned(), true)]);
}
