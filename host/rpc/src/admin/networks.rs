//! Listing networks with their usage, and defining or removing one without a CNI call.

use std::sync::Arc;

use tenure_engine::{Define, Engine};
use tenure_ledger::{Book, Chooser, Shelf};
use tenure_types::cni::Configuration;
use tenure_types::{Definer, NetworkName, Pool, Result};

use super::books::books;
use super::overlap::{MOST_OF_ONE, Overlap, overlaps};
use super::shown::{count, map, policy_ref, unknown_network};
use crate::cni::network_config;
use crate::v1;

/// The most ranges of a pool to list.
const MOST_RANGES: usize = 256;

pub(super) async fn networks(engine: &Engine) -> v1::ListNetworksResponse {
    let books = books(engine).await;
    let mut networks: Vec<_> = books.iter().map(|book| network(engine, book)).collect();
    for Overlap { one, other, .. } in overlaps(&books) {
        for (of, with) in [(one, other), (other, one)] {
            let network = networks.get_mut(of).filter(|network| network.overlaps.len() < MOST_OF_ONE);
            if let (Some(network), Some(book)) = (network, books.get(with)) {
                network.overlaps.push(book.name().to_string());
            }
        }
    }
    v1::ListNetworksResponse { networks }
}

fn network(engine: &Engine, book: &Book) -> v1::Network {
    let served = engine.policies_of(book.name());
    let now = served.as_ref().map(|served| &served.now);
    let before = served.as_ref().and_then(|served| served.before.front());
    v1::Network {
        name: book.name().to_string(),
        policy: now.map(|choice| policy_ref(&choice.policy)),
        activated: now.is_some_and(|choice| choice.by == Chooser::Operator),
        pools: book.pools().iter().enumerate().map(|(index, of)| pool(book, index, of)).collect(),
        outside: count(book.allocations().filter(|held| book.is_outside(held)).count()),
        chosen_by: now.map_or_else(String::new, |choice| choice.by.name().to_owned()),
        chosen_at_ms: now.map_or(0, |choice| choice.at.wall_ms),
        policy_before: before.map(|choice| policy_ref(&choice.policy)),
        defined_by: book.network().defined_by.name().to_owned(),
        importing: book.is_importing(),
        overlaps: Vec::new(),
        quarantined: count(book.quarantined().len()),
    }
}

fn pool(book: &Book, index: usize, pool: &Pool) -> v1::Pool {
    let usage = book.usage(Shelf::whole(index));
    let range_states = book.ranges(index).take(MOST_RANGES).map(|view| v1::Range {
        name: view.range.name().to_string(),
        first: view.range.first().to_string(),
        last: view.range.last().to_string(),
        subnet: view.range.subnet().to_string(),
        gateway: view.range.gateway().map_or_else(String::new, |gateway| gateway.to_string()),
        draining: view.draining,
        held: view.held,
        cooling: view.cooling,
        attributes: map(view.range.attributes()),
    });
    v1::Pool {
        ranges: book.ranges(index).take(MOST_RANGES).map(|view| view.range.to_string()).collect(),
        total: u64::try_from(book.total(index)).unwrap_or(u64::MAX),
        held: usage.held,
        cooling: usage.cooling,
        name: pool.name.to_string(),
        supply: pool.supply.name().to_owned(),
        need: pool.need.name().to_owned(),
        attributes: map(&pool.attributes),
        range_states: range_states.collect(),
        range_count: count(book.ranges(index).count()),
    }
}

pub(super) async fn define(
    engine: &Engine,
    request: &v1::DefineNetworkRequest,
) -> Result<v1::DefineNetworkResponse> {
    let config = Configuration::parse(&request.config)?;
    let policy = config.policy()?;
    if policy.delegate().is_none() {
        // Pods get them.
        config.routes()?;
    }
    let define = Define {
        network: config.name().clone(),
        policy,
        config: Arc::new(network_config(&config)?),
        by: Definer::Operator,
        apply: request.apply,
        change_ranges: request.change_ranges,
    };
    let defined = engine.define_network(&define).await?;
    Ok(v1::DefineNetworkResponse {
        network: define.network.to_string(),
        policy: Some(policy_ref(&defined.after)),
        changed: defined.changed,
        ranges_added: defined.added,
        ranges_removed: defined.removed,
    })
}

pub(super) async fn remove(
    engine: &Engine,
    request: &v1::RemoveNetworkRequest,
) -> Result<v1::RemoveNetworkResponse> {
    let network = NetworkName::new(&request.network).map_err(|_| unknown_network(&request.network))?;
    let existed = engine.remove_network(&network, request.apply).await?;
    Ok(v1::RemoveNetworkResponse { existed })
}
