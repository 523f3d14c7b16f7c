//! Claims as messages.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use tenure_engine::{Claimed, ClaimedPlace, MissingFamily};
use tenure_ledger::{ClaimKey, Presence};
use tenure_types::cni::{Route, Success};
use tenure_types::{AssignedAddress, Attributes, DELEGATED, Moment, NetworkName, PoolName, RangeName};

use crate::routes::{defined_routes, routed};
use crate::v1;

/// The attribute that has the MTU.
const MTU: &str = "mtu";

/// The claims of an answer.
pub(super) struct ShownClaims {
    now: Moment,
    /// Whether routes that all claims of a network have are in the answer once, and not in each claim.
    apart: bool,
    /// The routes of each network; `None` if its claims differ, by the ranges of their addresses.
    shared: BTreeMap<NetworkName, Option<Vec<Route>>>,
}

impl ShownClaims {
    pub(super) fn new(now: Moment, apart: bool) -> Self {
        Self { now, apart, shared: BTreeMap::new() }
    }

    /// All claims of the answer.
    pub(super) fn all<'c>(
        &mut self,
        claims: impl IntoIterator<Item = &'c Claimed> + Clone,
    ) -> Vec<v1::Claim> {
        let mut definitions = DefinedRoutes::default();
        if self.apart {
            // Those of a delegate's network have routes of their own.
            let of_policies = claims.clone().into_iter().filter(|claimed| !is_delegated(claimed));
            for claimed in of_policies {
                let routes = definitions.routes_of(claimed);
                match self.shared.get_mut(&claimed.claim.key.network) {
                    Some(shared) => *shared = shared.take().filter(|shared| *shared == routes),
                    None => drop(self.shared.insert(claimed.claim.key.network.clone(), Some(routes))),
                }
            }
        }
        let shown = claims.into_iter().map(|claimed| {
            let is_apart = self.shared.get(&claimed.claim.key.network).is_some_and(Option::is_some);
            let routes = if is_apart { Vec::new() } else { definitions.routes_of(claimed) };
            with_routes_of(claimed, self.now, &routes)
        });
        shown.collect()
    }

    /// The routes of the networks whose claims come without.
    pub(super) fn routes(self) -> Vec<v1::NetworkRoutes> {
        let shared = self.shared.into_iter().filter_map(|(network, routes)| Some((network, routes?)));
        let of = |(network, routes): (NetworkName, Vec<Route>)| v1::NetworkRoutes {
            network: network.to_string(),
            routes: routes.iter().map(route).collect(),
        };
        shared.map(of).collect()
    }
}

/// The routes of networks' definitions, each read once.
#[derive(Default)]
struct DefinedRoutes(BTreeMap<NetworkName, Vec<Route>>);

impl DefinedRoutes {
    /// The routes that a claim's ranges and its network's definition have now, or those that the network's delegate gave.
    fn routes_of(&mut self, claimed: &Claimed) -> Vec<Route> {
        let places = claimed.places.iter();
        if is_delegated(claimed) {
            return Success::of(places.map(|place| place.assigned.clone()).collect()).routes;
        }
        let now = |place: &ClaimedPlace| AssignedAddress {
            source: Arc::clone(&place.now),
            ..place.assigned.clone()
        };
        let addresses = places.map(now).collect();
        // One that is invalid refuses the network's ADDs, too.
        let read = || defined_routes(&claimed.network.config).unwrap_or_default();
        let defined = self.0.entry(claimed.claim.key.network.clone()).or_insert_with(read);
        routed(Success { addresses, ..Success::default() }, None, defined).routes
    }
}

fn is_delegated(claimed: &Claimed) -> bool {
    claimed.network.attributes.get(DELEGATED).is_some()
}

/// A claim with what it holds.
#[must_use]
pub fn claim(claimed: &Claimed, now: Moment) -> v1::Claim {
    with_routes_of(claimed, now, &routes_of(claimed))
}

fn with_routes_of(claimed: &Claimed, now: Moment, routes: &[Route]) -> v1::Claim {
    let claim = &claimed.claim;
    let lease = claim.wish.lease.map_or(0, |lease| lease.as_secs());
    v1::Claim {
        agent: claim.key.agent.to_string(),
        network: claim.key.network.to_string(),
        name: claim.key.name.to_string(),
        generation: claim.generation.0,
        addresses: claimed.places.iter().map(address).collect(),
        routes: routes.iter().map(route).collect(),
        made_at_ms: claim.made_at.wall_ms,
        age_ms: now.wall_ms.saturating_sub(claim.made_at.wall_ms),
        lease_seconds: u32::try_from(lease).unwrap_or(u32::MAX),
        lapses_at_ms: claimed.lapses_at.map_or(0, |at| at.wall_ms),
        reserved: matches!(claim.presence, Presence::Reserved(_)),
        scope: named(claim.wish.claimant.scope.as_ref()),
        holder: named(claim.wish.claimant.holder.as_ref()),
        missing_families: claimed.missing.iter().map(missing).collect(),
    }
}

/// Converts a claim's key to the form that its agent sees.
pub(super) fn id(key: &ClaimKey) -> v1::ClaimId {
    v1::ClaimId { network: key.network.to_string(), name: key.name.to_string() }
}

fn named(name: Option<&impl ToString>) -> String {
    name.map_or_else(String::new, ToString::to_string)
}

fn missing(MissingFamily { is_ipv6, why }: &MissingFamily) -> v1::MissingFamily {
    let family = if *is_ipv6 { v1::Family::Ipv6 } else { v1::Family::Ipv4 };
    v1::MissingFamily { family: family.into(), reason: why.name().to_owned(), message: why.to_string() }
}

fn address(place: &ClaimedPlace) -> v1::ClaimAddress {
    let source = &place.now;
    let attributes = [&place.assigned.attributes, &source.range_attributes, &source.pool_attributes];
    let mtu = attributes.into_iter().find_map(|attributes| attributes.get(MTU)?.parse().ok());
    v1::ClaimAddress {
        address: place.assigned.address.to_string(),
        gateway: text(place.gateway()),
        pool: source.pool.as_ref().map_or_else(String::new, PoolName::to_string),
        range: source.range.as_ref().map_or_else(String::new, RangeName::to_string),
        pool_attributes: map(&source.pool_attributes),
        range_attributes: map(&source.range_attributes),
        attributes: map(&place.assigned.attributes),
        mtu: mtu.unwrap_or_default(),
        leaving: place.is_leaving,
        is_prefix: place.assigned.is_prefix(),
    }
}

/// The routes of one claim.
pub(super) fn routes_of(claimed: &Claimed) -> Vec<Route> {
    DefinedRoutes::default().routes_of(claimed)
}

fn route(route: &Route) -> v1::ClaimRoute {
    v1::ClaimRoute {
        destination: route.dst.to_string(),
        gateway: text(route.gw),
        mtu: route.mtu.unwrap_or_default(),
        advmss: route.advmss.unwrap_or_default(),
        priority: route.priority,
        table: route.table,
        scope: route.scope,
    }
}

fn text(address: Option<IpAddr>) -> String {
    address.map_or_else(String::new, |address| address.to_string())
}

fn map(attributes: &Attributes) -> HashMap<String, String> {
    attributes.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests;
