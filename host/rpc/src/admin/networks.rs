//! The networks, and how full they are.

use tenure_engine::Engine;
use tenure_ledger::Book;

use super::books::books;
use super::shown::{count, policy_ref};
use crate::v1;

pub(super) async fn networks(engine: &Engine) -> v1::ListNetworksResponse {
    v1::ListNetworksResponse { networks: books(engine).await.iter().map(|book| network(book)).collect() }
}

fn network(book: &Book) -> v1::Network {
    let network = book.network();
    let pools = network.definition.pools.iter().enumerate().map(|(index, pool)| {
        let usage = book.usage(index);
        let ranges = pool.ranges.iter().map(ToString::to_string).collect();
        let total = pool.ranges.iter().fold(0, |total: u128, range| total.saturating_add(range.count()));
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        v1::Pool { ranges, total, held: usage.held, cooling: usage.cooling }
    });
    v1::Network {
        name: network.name.to_string(),
        policy: Some(policy_ref(&network.policy)),
        activated: network.activated,
        pools: pools.collect(),
        outside: count(book.allocations().filter(|held| book.is_outside(held)).count()),
    }
}
