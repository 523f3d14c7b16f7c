//! Policies that choose by namespace, by quota, by name, or by owner.

use crate::node::{Asker, Node, example};
use tenure_types::{Error, ErrorCode};

/// A pod with one container.
fn pod<'a>(namespace: &'a str, container: &'a str) -> Asker<'a> {
    Asker::Pod(container, namespace, container)
}

/// The single address that an asker gets.
fn get(node: &mut Node, asker: Asker<'_>) -> Result<String, Error> {
    node.add_as(asker, &[]).map(|addresses| addresses.join(" "))
}

fn refused(node: &mut Node, asker: Asker<'_>) -> (ErrorCode, String) {
    let error = get(node, asker).unwrap_err();
    let (_, text) = error.cause.split_once(": ").unwrap();
    (error.code, text.to_owned())
}

#[test]
fn zones_a_namespace_has_ranges_of_its_own_and_falls_back_to_everybodys() {
    let ipam = r#"{"ranges": [[{"subnet": "10.1.0.0/29", "rangeAttributes": {"namespace": "blue"}},
                               {"subnet": "10.2.0.0/29"}]]}"#;
    let mut node = Node::define(&example("zones"), ipam).unwrap();
    for expected in ["10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.5", "10.1.0.6", "10.2.0.2"] {
        assert_eq!(get(&mut node, pod("blue", &format!("c-{expected}"))).unwrap(), expected);
    }
    assert_eq!(get(&mut node, pod("red", "red")).unwrap(), "10.2.0.3");
    assert_eq!(get(&mut node, Asker::Container("no-pod")).unwrap(), "10.2.0.4");
    // The namespace's own ranges come first, though others are free and this address is still cooling down.
    node.release("c-10.1.0.4");
    assert_eq!(get(&mut node, pod("blue", "late")).unwrap(), "10.1.0.4");
    assert_eq!(get(&mut node, pod("red", "red-2")).unwrap(), "10.2.0.5");
    assert_eq!(get(&mut node, pod("red", "red-3")).unwrap(), "10.2.0.6");
    let full = (ErrorCode::PoolExhausted, "no address is free for red in pool 0".into());
    assert_eq!(refused(&mut node, pod("red", "red-4")), full);
}

#[test]
fn quota_no_namespace_holds_more_than_its_share() {
    let ipam = r#"{"subnet": "10.1.0.0/24", "quota": {"*": 1, "blue": 2, "none": 0}}"#;
    let mut node = Node::define(&example("quota"), ipam).unwrap();
    for container in ["b1", "b2"] {
        get(&mut node, pod("blue", container)).unwrap();
    }
    let reached = |namespace: &str, quota: u32| {
        let text = format!("namespace {namespace} has reached its quota of {quota}");
        (ErrorCode::OverQuota, text)
    };
    assert_eq!(refused(&mut node, pod("blue", "b3")), reached("blue", 2));
    assert_eq!(refused(&mut node, pod("none", "n1")), reached("none", 0));
    get(&mut node, pod("red", "r1")).unwrap();
    assert_eq!(refused(&mut node, pod("red", "r2")), reached("red", 1));
    node.release("b1");
    get(&mut node, pod("blue", "b3")).unwrap();
    // A request without a namespace is not counted.
    get(&mut node, Asker::Container("c1")).unwrap();
    get(&mut node, Asker::Container("c2")).unwrap();

    let wrong = Node::define(&example("quota"), r#"{"subnet": "10.1.0.0/24", "quota": {"blue": -1}}"#);
    let error = wrong.map(|_| ()).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidConfig);
    assert!(error.cause.ends_with("ipam.quota.blue: must be a non-negative integer"), "{error}");
}

#[test]
fn sticky_a_name_gets_its_last_address_while_nobody_else_has_it() {
    let mut node = Node::define(&example("sticky"), r#"{"subnet": "10.1.0.0/29"}"#).unwrap();
    let web = |container| Asker::Pod(container, "shop", "web-0");
    let router = Asker::Claim("cilium", "router");
    assert_eq!(get(&mut node, web("first")).unwrap(), "10.1.0.2");
    assert_eq!(get(&mut node, router).unwrap(), "10.1.0.3");
    node.release("first");
    node.release_as(router);
    // Both addresses are still cooling down, except for the names that had them last.
    assert_eq!(get(&mut node, pod("shop", "web-1")).unwrap(), "10.1.0.4");
    assert_eq!(get(&mut node, router).unwrap(), "10.1.0.3");
    assert_eq!(get(&mut node, web("second")).unwrap(), "10.1.0.2");
    // A second pod of the name gets the next address, and so does the name if somebody else holds its address.
    assert_eq!(get(&mut node, web("third")).unwrap(), "10.1.0.5");
    for container in ["second", "third"] {
        node.release(container);
    }
    node.thaw();
    for expected in ["10.1.0.6", "10.1.0.2", "10.1.0.5"] {
        assert_eq!(get(&mut node, pod("shop", &format!("c-{expected}"))).unwrap(), expected);
    }
    node.release("c-10.1.0.6");
    assert_eq!(get(&mut node, web("fourth")).unwrap(), "10.1.0.6");
}

#[test]
fn canary_deny_refuses_by_name_and_by_number_and_says_why() {
    let policy = example("canary_deny");
    let ipam = |deny: &str| format!(r#"{{"subnet": "10.1.0.0/24"{deny}}}"#);
    let mut node = Node::define(&policy, &ipam("")).unwrap();
    assert_eq!(get(&mut node, pod("shop", "web-canary")).unwrap(), "10.1.0.2");

    let deny = r#", "deny": {"podSuffix": "-canary", "reason": "this node is being drained"}"#;
    let mut node = Node::define(&policy, &ipam(deny)).unwrap();
    let drained = (ErrorCode::PolicyRefused, "shop/web-canary: this node is being drained".into());
    assert_eq!(refused(&mut node, pod("shop", "web-canary")), drained);
    assert_eq!(get(&mut node, pod("shop", "canary-web")).unwrap(), "10.1.0.2");
    assert_eq!(get(&mut node, Asker::Container("x-canary")).unwrap(), "10.1.0.3", "it has no pod's name");

    // One in two, and the same container gets the same answer whenever it repeats its request.
    let mut node = Node::define(&policy, &ipam(r#", "deny": {"oneIn": 2}"#)).unwrap();
    let names: Vec<_> = (0..64).map(|number| format!("c{number}")).collect();
    let admitted: Vec<_> = names.iter().filter(|name| node.add(name, &[]).is_ok()).collect();
    assert!((16..48).contains(&admitted.len()), "{admitted:?}");
    for name in &names {
        let is_admitted = admitted.contains(&name);
        if is_admitted {
            node.release(name);
        }
        assert_eq!(node.add(name, &[]).is_ok(), is_admitted, "{name}");
    }
    for (wrong, cause) in [
        (r#"{"oneIn": 0}"#, "ipam.deny: podSuffix must not be empty, and oneIn must be at least 1"),
        (r#"{"podSuffix": ""}"#, "ipam.deny: podSuffix must not be empty, and oneIn must be at least 1"),
        (r#"{"podSuffix": 1}"#, "ipam.deny.podSuffix: must be a string"),
    ] {
        let ipam = ipam(&format!(r#", "deny": {wrong}"#));
        let error = Node::define(&policy, &ipam).map(|_| ()).unwrap_err();
        assert!(error.cause.ends_with(cause), "{error}");
    }
}

#[test]
fn delegated_names_have_fixed_addresses_and_agents_come_first() {
    let ipam = r#"{"ranges": [[{"subnet": "10.1.2.0/24", "rangeStart": "10.1.2.100", "rangeEnd": "10.1.2.101"},
                               {"subnet": "10.1.2.0/24", "rangeStart": "10.1.2.50", "rangeEnd": "10.1.2.50",
                                "rangeAttributes": {"for": "agents"}}]],
                   "fixed": {"cilium/router": "10.1.2.7", "shop/web-0": "10.1.2.8"}}"#;
    let policy = example("delegated");
    let mut node = Node::define(&policy, ipam).unwrap();
    assert_eq!(get(&mut node, Asker::Claim("cilium", "router")).unwrap(), "10.1.2.7");
    assert_eq!(get(&mut node, Asker::Claim("cilium", "health")).unwrap(), "10.1.2.50");
    assert_eq!(get(&mut node, pod("shop", "other")).unwrap(), "10.1.2.100");
    assert_eq!(get(&mut node, Asker::Pod("c1", "shop", "web-0")).unwrap(), "10.1.2.8");
    let held = (ErrorCode::AddressUnavailable, "the address of shop/web-0 is held by another owner".into());
    assert_eq!(refused(&mut node, Asker::Pod("c2", "shop", "web-0")), held);
    assert_eq!(get(&mut node, Asker::Claim("cilium", "ingress")).unwrap(), "10.1.2.101");
    // Nobody else gets the address of an agent or of a name.
    node.release_as(Asker::Claim("cilium", "health"));
    node.thaw();
    let full = (ErrorCode::PoolExhausted, "no address is free for shop/late in pool 0".into());
    assert_eq!(refused(&mut node, pod("shop", "late")), full);
    // A restarted pod gets its own address back at once.
    node.release("c1");
    assert_eq!(get(&mut node, Asker::Pod("c2", "shop", "web-0")).unwrap(), "10.1.2.8");

    let wrong = r#"{"subnet": "10.1.2.0/24", "rangeStart": "10.1.2.9", "fixed": {"shop/web-0": "10.9.9.9"}}"#;
    let error = Node::define(&policy, wrong).map(|_| ()).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidConfig);
    assert!(error.cause.ends_with("ipam.fixed.shop/web-0: 10.9.9.9 is in no range's subnet"), "{error}");
}
