//! The routes of pods and claims: whose they are, and which of them counts before which.

use tenure_types::cni::{Configuration, Route, Success};
use tenure_types::{NetworkConfig, Result};

/// The result with its routes. Of those to one destination, the first of these counts:
///
/// 1. `own`: those of the caller's CNI configuration;
/// 2. those that the ranges of its addresses carry, such as an AddressPool's;
/// 3. those that are `defined` for the network, unless the caller has a list of its own, even an empty one. Only those of the families of
///    its addresses: a definition is for all pods.
pub(crate) fn routed(answer: Success, own: Option<Vec<Route>>, defined: &[Route]) -> Success {
    let takes_defined = own.is_none();
    let mut answer = Success { routes: own.unwrap_or_default(), ..answer }.with_routes_of_ranges();
    if takes_defined {
        let is_needed = |route: &&Route| {
            answer.addresses.iter().any(|address| route.is_for(address.ip()))
                && answer.routes.iter().all(|known| known.dst != route.dst)
        };
        let needed: Vec<Route> = defined.iter().filter(is_needed).cloned().collect();
        answer.routes.extend(needed);
    }
    answer
}

/// The routes of a network's definition.
///
/// # Errors
/// `InvalidConfig` for an invalid route.
pub(crate) fn defined_routes(definition: &NetworkConfig) -> Result<Vec<Route>> {
    let plugin = format!("{{\"name\":\"network\",\"ipam\":{}}}", definition.ipam);
    Configuration::parse(plugin.as_bytes())?.routes().map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenure_types::{AssignedAddress, Source};

    use super::*;

    fn route(dst: &str, gw: &str) -> Route {
        let by_nobody = Route::default_by("10.0.0.1".parse().unwrap());
        Route { dst: dst.parse().unwrap(), gw: gw.parse().ok(), ..by_nobody }
    }

    #[test]
    fn a_pools_route_counts_before_the_definitions_and_the_calls_before_both() {
        let of_pool = [route("0.0.0.0/0", "10.0.0.254"), route("10.8.0.0/16", "")];
        let carrying = Success { routes: of_pool.to_vec(), ..Success::default() };
        let range_attributes = carrying.carried("mark", "x").unwrap();
        let mut address = AssignedAddress::plain("10.0.0.2/24".parse().unwrap(), None);
        address.source = Arc::new(Source { range_attributes, ..Source::default() });
        let answer = Success { addresses: vec![address], ..Success::default() };
        let defined = ["0.0.0.0/0", "::/0", "10.96.0.0/12"].map(|dst| route(dst, ""));
        let routes = |own: Option<Vec<Route>>| routed(answer.clone(), own, &defined).routes;
        let expected = [of_pool[0].clone(), of_pool[1].clone(), defined[2].clone()];
        assert_eq!(routes(None), expected, "what is left of the definition");
        let own = route("0.0.0.0/0", "10.0.0.9");
        assert_eq!(routes(Some(vec![own.clone()])), [own, of_pool[1].clone()]);
        assert_eq!(routes(Some(Vec::new())), of_pool);
    }
}
