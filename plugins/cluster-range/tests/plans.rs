//! Proposals and plans on a node whose blocks a test leases.
#![expect(clippy::unwrap_used, reason = "test helpers are part of the tests")]

use tenure_cluster_range::ClusterRange;
use tenure_sdk::{Attributes, Config, EffectKind, Object, Policy, Range, SupplySituation};
use tenure_testkit::{ErrorCode, Native, Node};

/// A block of 16 addresses of 10.0.0.0/24, of which 13 can be handed out.
fn block(number: u8) -> (String, Range) {
    let name = format!("10.0.0.{}/28", number * 16);
    let subnet = name.parse().unwrap();
    let at = |last: u8| std::net::IpAddr::from([10, 0, 0, number * 16 + last]);
    let mut range = Range::new(subnet, at(0), at(15));
    range.gateway = Some(at(1));
    range.attributes = Attributes::new().with("block", name.clone());
    (name, range)
}

fn node(blocks: &[u8]) -> Node<Native<ClusterRange>> {
    let mut node = tenure_testkit::define::<ClusterRange>(r#"{ "pools": ["pods"] }"#).unwrap();
    for number in blocks {
        node.supply("pods.v4", &block(*number).1).unwrap();
    }
    node
}

fn state(waiting: u32, idle: &[u8]) -> SupplySituation {
    let idle = idle.iter().map(|number| Object {
        kind: "block".into(),
        name: block(*number).0,
        attributes: Attributes::new().with("idle.seconds", "60"),
    });
    SupplySituation {
        waiting: vec![(0, waiting)],
        objects: idle.collect(),
        attributes: Attributes::new().with("preallocation", "4").with("release.seconds", "60"),
        ..SupplySituation::default()
    }
}

fn kinds(node: &Node<Native<ClusterRange>>, state: &SupplySituation) -> Vec<(EffectKind, String)> {
    let effects = node.plan(state).unwrap();
    let first = |effect: tenure_sdk::Effect| {
        let value = effect
            .attributes
            .get("block")
            .or(effect.attributes.get("addresses"))
            .unwrap_or_default()
            .to_owned();
        (effect.kind, value)
    };
    effects.into_iter().map(first).collect()
}

#[test]
fn the_fullest_block_is_filled_first() {
    let mut node = node(&[0, 1, 2]);
    node.add_requesting("a/first", &["10.0.0.20".parse().unwrap()]).unwrap();
    for pod in 0..12 {
        let address = node.add(&format!("a/p{pod}")).unwrap()[0];
        assert!(
            address.to_string().parse::<std::net::Ipv4Addr>().unwrap().octets()[3] / 16 == 1,
            "{address}"
        );
    }
    let next = node.add("a/next").unwrap()[0];
    assert_eq!(next.to_string(), "10.0.0.2", "then the first of the empty ones");
}

#[test]
fn a_block_is_requested_when_less_than_the_preallocation_is_free() {
    assert_eq!(kinds(&node(&[]), &state(0, &[])), [(EffectKind::RequestBlock, "4".to_owned())]);
    assert_eq!(kinds(&node(&[0]), &state(0, &[])), []);
    assert_eq!(kinds(&node(&[0]), &state(11, &[])), [(EffectKind::RequestBlock, "2".to_owned())]);
    let mut pending = state(11, &[]);
    pending.pending = vec![tenure_sdk::Effect::new(EffectKind::RequestBlock, 0)];
    assert_eq!(kinds(&node(&[0]), &pending), []);
}

#[test]
fn a_block_is_offered_once_it_was_empty_for_long_and_the_reserve_stays() {
    // Without one of three, 26 are free: more than the pre-allocation and another block. Without two, 13 would be.
    let offered = [(EffectKind::GiveBackBlock, "10.0.0.32/28".to_owned())];
    assert_eq!(kinds(&node(&[0, 1, 2]), &state(0, &[0, 1, 2])), offered);
    assert_eq!(kinds(&node(&[0, 1, 2]), &state(0, &[])), [], "not empty for long");
    assert_eq!(kinds(&node(&[0, 1]), &state(0, &[0, 1])), [], "13 are fewer than 4 and another 13");
    let mut held = node(&[0, 1, 2]);
    held.add_requesting("a/held", &["10.0.0.40".parse().unwrap()]).unwrap();
    let second = [(EffectKind::GiveBackBlock, "10.0.0.16/28".to_owned())];
    assert_eq!(kinds(&held, &state(0, &[0, 1])), second, "25 stay; without the first as well, 12 would");
}

#[test]
fn without_a_free_block_in_the_cluster_requests_that_wait_are_refused() {
    let mut exhausted = state(3, &[]);
    exhausted.pending = vec![tenure_sdk::Effect::new(EffectKind::RequestBlock, 0)];
    assert_eq!(kinds(&node(&[]), &exhausted), [], "a block may come");
    let attributes =
        Attributes::new().with("reason", "PoolExhausted").with("message", "no block of pool pods is free");
    exhausted.objects.push(Object { kind: "pool".into(), name: "pods.v4".into(), attributes });
    let error = node(&[]).plan(&exhausted).unwrap_err();
    assert_eq!(error.code, ErrorCode::PoolExhausted);
    assert!(error.cause.contains("no block of pool pods is free"), "{}", error.cause);
}

#[test]
fn a_pool_that_is_exhausted_refuses_nobody_for_whom_another_may_grow() {
    let mut node = tenure_testkit::define::<ClusterRange>(r#"{ "pools": ["a", "b"] }"#).unwrap();
    let mut exhausted = state(1, &[]);
    exhausted.waiting = vec![(0, 1), (1, 1)];
    exhausted.pending = [0, 1].map(|pool| tenure_sdk::Effect::new(EffectKind::RequestBlock, pool)).into();
    let attributes = Attributes::new().with("reason", "PoolExhausted");
    exhausted.objects.push(Object { kind: "pool".into(), name: "b.v4".into(), attributes });
    assert_eq!(kinds(&node, &exhausted), [], "a block of a may come");
    node.supply("a.v4", &block(0).1).unwrap();
    exhausted.attributes = Attributes::new().with("preallocation", "4");
    assert_eq!(node.plan(&exhausted).unwrap_err().code, ErrorCode::PoolExhausted, "only b has nothing");
}

/// Regression: a block that cannot come was planned for or awaited, so that an exhausted pool beside it refused nobody.
#[test]
fn a_pool_without_a_demand_and_one_without_the_family_keep_no_request_waiting() {
    let node = tenure_testkit::define::<ClusterRange>(r#"{ "pools": ["a", "b"] }"#).unwrap();
    let object = |name: &str, reason: &str| Object {
        kind: "pool".into(),
        name: name.into(),
        attributes: Attributes::new().with("reason", reason),
    };
    let mut exhausted = state(1, &[]);
    exhausted.pending = vec![tenure_sdk::Effect::new(EffectKind::RequestBlock, 0)];
    exhausted.objects.push(object("a.v4", "PoolExhausted"));
    let without_demand = exhausted.clone();
    exhausted.waiting = vec![(0, 1), (1, 1)];
    exhausted.objects.push(object("b.v4", "NoSuchFamily"));
    for state in [without_demand, exhausted] {
        assert_eq!(node.plan(&state).unwrap_err().code, ErrorCode::PoolExhausted);
    }
}

/// Regression: nothing was exhausted, and each ADD waited until its deadline.
#[test]
fn where_no_pool_for_everybody_has_a_family_every_request_is_refused() {
    let config = r#"{ "pools": ["a", "claims"], "families": ["ipv4", "ipv6"] }"#;
    let mut node = tenure_testkit::define::<ClusterRange>(config).unwrap();
    node.supply("a.v4", &block(0).1).unwrap();
    let object = |name: &str| Object {
        kind: "pool".into(),
        name: name.into(),
        attributes: Attributes::new().with("reason", "NoSuchFamily"),
    };
    // The pools are `a.v4`, `claims.v4`, `a.v6` and `claims.v6`; those for claims have no demand.
    let mut lacking = state(1, &[]);
    lacking.waiting = vec![(0, 1), (2, 1)];
    lacking.objects.push(object("a.v6"));
    let error = node.plan(&lacking).unwrap_err();
    assert_eq!(error.code, ErrorCode::PoolExhausted);
    assert!(
        error.cause.contains("no pool of the network has ipv6 addresses for everybody"),
        "{}",
        error.cause
    );
    lacking.waiting = vec![(0, 0), (2, 0)];
    assert_eq!(kinds(&node, &lacking), [], "nobody waits");
    lacking.waiting = vec![(0, 1), (2, 1), (3, 1)];
    let request = (EffectKind::RequestBlock, "5".to_owned());
    assert_eq!(kinds(&node, &lacking), [request], "the other pool is for everybody, too");
    lacking.waiting = vec![(0, 1), (2, 1)];
    lacking.objects.clear();
    assert_eq!(kinds(&node, &lacking).len(), 1, "it is not known that `a` lacks the family");
}

/// Regression: the policy never said that a pool is exhausted, and an ADD waited until its deadline each time.
#[test]
fn where_the_supply_is_full_a_request_is_refused_for_good_unless_an_address_cools_down() {
    let full = |node: &mut Node<Native<ClusterRange>>| {
        let mut request = node.request("a/last", &[]).unwrap();
        request.supply_full = true;
        tenure_testkit::Subject::propose(node.policy(), &request, &[], node.book()).unwrap_err().code
    };
    assert_eq!(full(&mut node(&[])), ErrorCode::PoolExhausted);
    let mut node = node(&[0]);
    for pod in 0..13 {
        node.add(&format!("a/p{pod}")).unwrap();
    }
    assert_eq!(node.add("a/last").unwrap_err().code, ErrorCode::NotYet, "a block may come");
    assert_eq!(full(&mut node), ErrorCode::PoolExhausted);
    node.del("a/p0").unwrap();
    assert_eq!(full(&mut node), ErrorCode::NotYet, "an address cools down");
}

#[test]
fn a_configuration_names_pools_and_families() {
    let defined = |ipam: &str| ClusterRange::define(&Config::new("pods", ipam, &[]));
    let names = |ipam: &str| -> Vec<String> {
        defined(ipam).unwrap().pools.into_iter().map(|pool| pool.name).collect()
    };
    assert_eq!(names(r#"{ "pools": ["a"], "families": ["ipv4", "ipv6"] }"#), ["a.v4", "a.v6"]);
    assert_eq!(names(r#"{ "pools": ["a", "b"] }"#), ["a.v4", "b.v4"]);
    for wrong in [
        "{}",
        r#"{ "pools": [] }"#,
        r#"{ "pools": ["A"] }"#,
        r#"{ "pools": ["a", "a"] }"#,
        r#"{ "pools": ["a"], "families": ["ipv5"] }"#,
        r#"{ "pools": ["a"], "families": [] }"#,
        r#"{ "pools": ["a"], "gateway": "last" }"#,
    ] {
        assert!(defined(wrong).is_err(), "{wrong}");
    }
}

/// A node whose pool `a` has the first block, and `b` the second one.
fn two_pools() -> Node<Native<ClusterRange>> {
    let mut node = tenure_testkit::define::<ClusterRange>(r#"{ "pools": ["a", "b"] }"#).unwrap();
    node.supply("a.v4", &block(0).1).unwrap();
    node.supply("b.v4", &block(1).1).unwrap();
    node
}

#[test]
fn of_several_pools_only_those_count_that_the_host_offers_in_its_order() {
    let mut node = two_pools();
    let next = |node: &mut Node<_>, pod: &str| node.add(pod).map(|addresses| addresses[0].to_string());
    assert_eq!(next(&mut node, "x/first").unwrap(), "10.0.0.2");
    node.offer(&["b.v4", "b.v6"]).unwrap();
    assert_eq!(next(&mut node, "x/second").unwrap(), "10.0.0.18");
    let foreign = node.add_requesting("x/foreign", &["10.0.0.4".parse().unwrap()]).unwrap_err();
    assert_eq!(foreign.code, ErrorCode::AddressUnavailable, "{foreign}");
    node.offer(&["b.v4", "a.v4"]).unwrap();
    for pod in 0..12 {
        assert!(next(&mut node, &format!("x/p{pod}")).unwrap().as_str() > "10.0.0.18");
    }
    assert_eq!(next(&mut node, "x/next").unwrap(), "10.0.0.3", "b is full, and a is offered, too");
    node.offer(&["b.v4"]).unwrap();
    let refused = next(&mut node, "x/last").unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotYet);
    assert!(refused.cause.contains("pool b.v4 has 13 of 13 held") && !refused.cause.contains("a.v4"));
}

#[test]
fn two_requested_addresses_of_one_family_are_refused_with_both() {
    let requested = ["10.0.0.4", "10.0.0.5"].map(|address| address.parse().unwrap());
    let refused = two_pools().add_requesting("x/pod", &requested).unwrap_err();
    assert_eq!(
        refused.cause,
        "10.0.0.4 and 10.0.0.5 are both requested, by CNI_ARGS, args.cni.ips or runtimeConfig.ips, and an interface gets one address of each family"
    );
}
