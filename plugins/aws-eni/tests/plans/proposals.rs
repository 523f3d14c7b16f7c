//! Proposals: which address a pod gets, and what it is told if there is none.

use tenure_aws_eni::AwsEni;
use tenure_sdk::{Attributes, Config, Policy, Refusal, Request};
use tenure_testkit::ErrorCode;

use super::world::{M5_LARGE, T3_SMALL, T3_SMALL_PREFIXES, World};

/// The name of the range, and thereby the interface, of a pod's address.
fn place(world: &World, address: std::net::IpAddr) -> (String, String) {
    let (_, range) = world.node.book().locate(address).unwrap();
    (range.attributes().get("interface").unwrap().to_owned(), range.name().as_str().to_owned())
}

fn add(world: &mut World, name: &str) -> (String, String) {
    let address = world.node.add(name).unwrap()[0];
    place(world, address)
}

#[test]
fn the_primary_interface_is_filled_first_and_then_the_fullest_one() {
    let mut world = World::with(M5_LARGE, "{}", &[2, 3, 3], false);
    world.hold(2, 1, 1);
    let got: Vec<_> = (0..7).map(|number| add(&mut world, &format!("a/p{number}")).0).collect();
    assert_eq!(got, ["eni-0", "eni-0", "eni-2", "eni-2", "eni-1", "eni-1", "eni-1"]);
}

#[test]
fn of_an_interface_the_fullest_prefix_is_filled_first() {
    let ipam = r#"{ "prefixes": true, "warm": { "prefixes": 1 } }"#;
    let mut world = World::with(T3_SMALL_PREFIXES, ipam, &[3], true);
    let second = world.enis[0].ranges[1].0.clone();
    world.node.add_requesting("a/first", &[second.replace("/28", "").parse().unwrap()]).unwrap();
    for number in 0..15 {
        assert_eq!(add(&mut world, &format!("a/p{number}")).1, second);
    }
    assert_eq!(add(&mut world, "a/next").1, world.enis[0].ranges[0].0, "then the first of the empty ones");
}

#[test]
fn with_prefixes_a_single_address_is_the_last_resort_and_without_them_a_prefix_is() {
    for (prefixes, first) in [(true, "/28"), (false, "/32")] {
        let ipam = format!(r#"{{ "prefixes": {prefixes}, "warm": {{ "addresses": 1 }} }}"#);
        let mut world = World::new(T3_SMALL_PREFIXES, &ipam);
        world.assign(0, 1, false);
        world.assign(0, 1, true);
        assert!(add(&mut world, "a/p").1.ends_with(first), "prefixes: {prefixes}");
    }
}

#[test]
fn a_cooling_address_is_never_proposed() {
    let mut world = World::with(T3_SMALL, "{}", &[1], false);
    world.cool(0, 1);
    let error = world.node.add("a/web").unwrap_err();
    assert_eq!(error.code, ErrorCode::NotYet);
    assert_eq!(error.cause, "no address of pool ipv4 is free: 0 of 1 are held, 1 are cooling down");
    world.node.thaw();
    world.node.add("a/web").unwrap();
}

#[test]
fn a_requested_address_is_given_if_it_is_free_and_otherwise_nothing_is() {
    let mut world = World::with(T3_SMALL, "{}", &[3], false);
    let addresses: Vec<std::net::IpAddr> =
        world.enis[0].ranges.iter().map(|(name, _)| name.replace("/32", "").parse().unwrap()).collect();
    assert_eq!(world.node.add_requesting("a/one", &[addresses[1]]).unwrap(), [addresses[1]]);
    world.node.add_requesting("a/two", &[addresses[2]]).unwrap();
    world.node.del("a/two").unwrap();
    world.node.drain("ipv4", &world.enis[0].ranges[0].0).unwrap();
    for (address, why) in [
        (addresses[1], "has another owner"),
        (addresses[2], "is cooling down"),
        (addresses[0], "is being given back"),
        ("10.9.9.9".parse().unwrap(), "is on no interface of this node"),
    ] {
        let error = world.node.add_requesting("a/three", &[address]).unwrap_err();
        assert_eq!(error.code, ErrorCode::AddressUnavailable);
        assert!(error.cause.contains(why), "{error}");
    }
}

/// What a request with these attributes is told on an empty node.
fn told(ipam: &str, attributes: &[(&str, &str)]) -> Refusal {
    struct Empty(Config);
    impl tenure_sdk::native::Host for Empty {
        fn config(&self) -> tenure_sdk::bindings::tenure::ipam::types::Config {
            let (name, ipam) = (self.0.name.clone(), self.0.ipam.clone());
            tenure_sdk::bindings::tenure::ipam::types::Config { name, ipam, attributes: Vec::new() }
        }

        fn pools(&self) -> Vec<tenure_sdk::bindings::tenure::ipam::types::Pool> {
            use tenure_sdk::bindings::tenure::ipam::types::{Need, Pool, Supply};
            let (supply, need) = (Supply::Host, Need::Always);
            vec![Pool { name: "ipv4".into(), supply, need, attributes: Vec::new() }]
        }
    }
    let attributes: Attributes = attributes.iter().copied().collect();
    let request = Request { network: "net".into(), requested: Vec::new(), attributes };
    let host = std::rc::Rc::new(Empty(Config::new("net", ipam, &[])));
    tenure_sdk::native::call(host, || AwsEni::propose(&request)).unwrap_err()
}

#[test]
fn a_pod_waits_as_long_as_the_plan_could_bring_more() {
    assert!(matches!(told("{}", &[]), Refusal::NotYet(_)));
    assert!(matches!(told("{}", &[("supply.state", "growing")]), Refusal::NotYet(_)));
    assert!(matches!(told("{}", &[("supply.state", "full")]), Refusal::Exhausted(_)));
    for fixed in ["fixedSupply", "imdsOnly"] {
        let refused = told(&format!(r#"{{ "{fixed}": true }}"#), &[]);
        assert!(matches!(refused, Refusal::NotYet(_)), "what is attached was not read yet");
    }
}
