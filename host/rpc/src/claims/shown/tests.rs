//! Which routes are in claims, and which are apart.

use std::sync::Arc;

use tenure_ledger::{Claim, Wish};
use tenure_types::{
    AgentName, AssignedAddress, ClaimName, Cooling, Definer, Generation, Network, NetworkConfig, Source,
};

use super::*;

/// A claim on the network, and whose range carries a route by this gateway, if there is one.
fn claimed(name: &str, gateway: Option<&str>) -> Claimed {
    let attributes = |gateway: &str| {
        let route =
            Route { dst: "10.200.0.0/16".parse().unwrap(), ..Route::default_by(gateway.parse().unwrap()) };
        Success { routes: vec![route], ..Success::default() }.carried("mark", "x").unwrap()
    };
    let range_attributes = gateway.map(attributes).unwrap_or_default();
    let source = Arc::new(Source { range_attributes, ..Source::default() });
    let assigned = AssignedAddress {
        source: Arc::clone(&source),
        ..AssignedAddress::plain("10.0.0.2/24".parse().unwrap(), None)
    };
    let ipam = r#"{"routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}"#.to_owned();
    let network = NetworkName::new("pods").unwrap();
    let key = ClaimKey {
        agent: AgentName::new("cilium").unwrap(),
        network: network.clone(),
        name: ClaimName::new(name).unwrap(),
    };
    Claimed {
        claim: Claim {
            key,
            wish: Wish::default(),
            generation: Generation(1),
            made_at: Moment::default(),
            presence: Presence::Here(Moment::default()),
        },
        places: vec![ClaimedPlace { assigned, now: source, is_leaving: false }],
        network: Arc::new(Network {
            name: network,
            config: Arc::new(NetworkConfig { ipam, attributes: Vec::new() }),
            pools: Vec::new(),
            cooling: Cooling::default(),
            attributes: Attributes::default(),
            defined_by: Definer::Configuration,
            changed_at: Moment::default(),
        }),
        lapses_at: None,
        missing: Vec::new(),
    }
}

fn told(routes: &[v1::ClaimRoute]) -> Vec<String> {
    routes
        .iter()
        .map(|route| format!("{} {}", route.destination, route.gateway).trim_end().to_owned())
        .collect()
}

/// The routes of each claim, and those of networks.
fn shown(claims: &[Claimed], apart: bool) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let mut shown = ShownClaims::new(Moment::default(), apart);
    let in_claims = shown.all(claims).iter().map(|claim| told(&claim.routes)).collect();
    (in_claims, shown.routes().iter().map(|of| told(&of.routes)).collect())
}

#[test]
fn a_claim_has_the_routes_of_its_own_range_and_family() {
    let claims = [claimed("a", Some("10.64.0.1")), claimed("b", Some("10.65.0.1")), claimed("c", None)];
    let own = [
        vec!["10.200.0.0/16 10.64.0.1".to_owned(), "0.0.0.0/0".to_owned()],
        vec!["10.200.0.0/16 10.65.0.1".to_owned(), "0.0.0.0/0".to_owned()],
        vec!["0.0.0.0/0".to_owned()],
    ];
    for apart in [false, true] {
        assert_eq!(shown(&claims, apart), (own.to_vec(), Vec::new()), "{apart}");
    }
}

/// Regression: a claim kept the next hop that its AddressPool had when it was made.
#[test]
fn a_claim_has_the_routes_that_its_range_has_now() {
    let mut moved = claimed("a", Some("10.64.0.1"));
    moved.places[0].now = Arc::clone(&claimed("b", Some("10.64.0.3")).places[0].now);
    let now = vec!["10.200.0.0/16 10.64.0.3".to_owned(), "0.0.0.0/0".to_owned()];
    assert_eq!(shown(&[moved], false), (vec![now], Vec::new()));
}

#[test]
fn what_all_claims_of_a_network_have_is_told_once() {
    let claims = [claimed("a", Some("10.64.0.1")), claimed("b", Some("10.64.0.1"))];
    let of_network = vec!["10.200.0.0/16 10.64.0.1".to_owned(), "0.0.0.0/0".to_owned()];
    assert_eq!(shown(&claims, true), (vec![Vec::new(); 2], vec![of_network.clone()]));
    assert_eq!(shown(&claims, false), (vec![of_network; 2], Vec::new()));
}
