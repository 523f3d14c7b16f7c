//! The planner against a kernel that is a value.

mod fake;
mod many;
mod random;

use std::net::IpAddr;

use super::*;
use crate::nft::Ranges;
use crate::node::{CloudInterface, NodeNetwork, NodeSettings, Pod};
use crate::numbers::{FROM_PODS, MAIN, POD_TABLE, TO_PODS};
use crate::parts::{InterfaceAddress, IpFamily, KernelLink, KernelRoute, RoutingRule};

/// A node with a prefix on its second interface, single addresses on its third, and a pod on each.
pub(super) fn node() -> NodeNetwork {
    let interface = |number: u8, address: &str, carries: &[&str]| CloudInterface {
        name: format!("eth{number}"),
        mac: format!("02:00:00:00:00:0{number}").parse().unwrap(),
        card: 0,
        device: u32::from(number),
        addresses: vec![address.parse().unwrap()],
        carries: carries.iter().map(|net| net.parse().unwrap()).collect(),
    };
    let pod = |number: u8, addresses: &[&str]| Pod {
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        link: format!("eni{number}"),
    };
    NodeNetwork {
        primary: Some(interface(0, "10.0.0.10/20", &["10.0.0.32/28"])),
        secondary: vec![
            interface(1, "10.0.1.10/20", &["10.0.1.32/28", "2001:db8:0:1::/80"]),
            interface(2, "10.0.2.10/20", &["10.0.2.4/32", "10.0.2.5/32", "10.0.2.7/32"]),
        ],
        pods: vec![pod(0, &["10.0.0.33"]), pod(1, &["10.0.1.33", "2001:db8:0:1::1"]), pod(2, &["10.0.2.5"])],
        settings: NodeSettings {
            within: vec!["10.0.0.0/16".parse().unwrap()],
            external: vec!["198.51.100.0/24".parse().unwrap()],
            ..NodeSettings::default()
        },
    }
}

/// A kernel with the node's links, down, and nothing else of ours.
pub(super) fn fresh(node: &NodeNetwork) -> ObservedState {
    let interfaces = node.interfaces();
    let interfaces = interfaces.map(|interface| (interface.name.clone(), Some(interface.mac)));
    let pods = node.pods.iter().map(|pod| (pod.link.clone(), None));
    let links = interfaces.chain(pods).zip(1..).map(|((name, mac), index)| KernelLink {
        name,
        index,
        mac,
        mtu: 1500,
        up: false,
        peer: None,
        alias: None,
    });
    let keys = DesiredState::of(node).unwrap().sysctls.into_keys();
    ObservedState {
        links: links.collect(),
        rules: vec![RoutingRule::new(IpFamily::V4, 32766, MAIN)],
        sysctls: keys.map(|key| (key, "0".to_owned())).collect(),
        ..ObservedState::default()
    }
}

fn lines<T: std::fmt::Display>(things: impl IntoIterator<Item = T>) -> String {
    things.into_iter().map(|thing| format!("{thing}\n")).collect()
}

#[test]
fn each_row_of_rules_and_tables_is_wanted() {
    let wanted = DesiredState::of(&node()).unwrap();
    assert_eq!(
        lines(&wanted.rules),
        "rule 512: from all lookup 9000\n\
         rule 1024: from all fwmark 0x80/0x80 lookup 254\n\
         rule 1535: from all to 198.51.100.0/24 lookup 254\n\
         rule 1536: from 10.0.1.32/28 lookup 9002\n\
         rule 1536: from 10.0.2.4/31 lookup 9003\n\
         rule 1536: from 10.0.2.7/32 lookup 9003\n\
         rule 32765: from 10.0.1.10/32 lookup 9002\n\
         rule 32765: from 10.0.2.10/32 lookup 9003\n\
         rule 512: from all lookup 9000\n\
         rule 1536: from 2001:db8:0:1::/80 lookup 9002\n"
    );
    assert_eq!(
        lines(&wanted.routes),
        "route 10.0.0.33/32 dev eni0 table 9000\n\
         route 10.0.1.33/32 dev eni1 table 9000\n\
         route 10.0.2.5/32 dev eni2 table 9000\n\
         route 2001:db8:0:1::1/128 dev eni1 table 9000\n\
         route 0.0.0.0/0 via 10.0.0.1 dev eth1 table 9002\n\
         route 10.0.0.1/32 dev eth1 table 9002\n\
         route ::/0 via fe80:ec2::1 dev eth1 table 9002\n\
         route fe80:ec2::1/128 dev eth1 table 9002\n\
         route 0.0.0.0/0 via 10.0.0.1 dev eth2 table 9003\n\
         route 10.0.0.1/32 dev eth2 table 9003\n"
    );
    assert_eq!(lines(&wanted.addresses), "address 10.0.1.10/20 dev eth1\naddress 10.0.2.10/20 dev eth2\n");
    let sysctls: Vec<String> = wanted.sysctls.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(
        sysctls,
        [
            "net/ipv4/conf/eth0/rp_filter=2",
            "net/ipv6/conf/all/forwarding=1",
            "net/ipv6/conf/eth0/accept_ra=2"
        ]
    );
}

#[test]
fn a_node_without_ipv6_wants_nothing_of_it() {
    let mut node = node();
    node.secondary[0].carries.truncate(1);
    node.pods[1].addresses.truncate(1);
    let wanted = DesiredState::of(&node).unwrap();
    assert!(wanted.rules.iter().all(|rule| rule.family == IpFamily::V4));
    assert_eq!(wanted.sysctls.len(), 1);
}

#[test]
fn a_plan_is_carried_out_once_and_in_a_safe_order() {
    let node = node();
    let wanted = DesiredState::of(&node).unwrap();
    let mut seen = fresh(&node);
    let plan = KernelPlan::of(&wanted, &seen);
    let subjects: Vec<&str> = plan.operations.iter().map(Operation::subject).collect();
    let mut order = subjects.clone();
    order.dedup();
    assert_eq!(order, ["sysctl", "link", "address", "route", "nftables", "rule"]);
    plan.operations.iter().for_each(|operation| fake::carry_out(&mut seen, operation));
    assert_eq!(KernelPlan::of(&wanted, &seen), KernelPlan::default());
}

#[test]
fn what_a_node_wants_no_more_is_removed() {
    let node = node();
    let mut seen = fresh(&node);
    fake::settle(&DesiredState::of(&node).unwrap(), &mut seen);
    let mut less = node.clone();
    less.secondary.pop();
    less.pods.pop();
    let plan = KernelPlan::of(&DesiredState::of(&less).unwrap(), &seen);
    assert_eq!(
        lines(&plan.operations),
        "replace the nftables table\n\
         remove rule 32765: from 10.0.2.10/32 lookup 9003\n\
         remove rule 1536: from 10.0.2.4/31 lookup 9003\n\
         remove rule 1536: from 10.0.2.7/32 lookup 9003\n\
         remove route 10.0.2.5/32 dev eni2 table 9000\n\
         remove route 10.0.0.1/32 dev eth2 table 9003\n\
         remove route 0.0.0.0/0 via 10.0.0.1 dev eth2 table 9003\n",
        "the address of an interface that is no longer described is nobody's to remove"
    );
}

#[test]
fn each_thing_that_goes_away_comes_back_alone() {
    let node = node();
    let wanted = DesiredState::of(&node).unwrap();
    let mut whole = fresh(&node);
    fake::settle(&wanted, &mut whole);
    let only = |seen: &ObservedState, text: String| {
        assert_eq!(lines(KernelPlan::of(&wanted, seen).operations), format!("{text}\n"));
    };
    for rule in &wanted.rules {
        let mut seen = whole.clone();
        seen.rules.retain(|other| other != rule);
        only(&seen, format!("add {rule}"));
    }
    for route in &wanted.routes {
        let mut seen = whole.clone();
        seen.routes.retain(|other| other != route);
        only(&seen, format!("set {route}"));
    }
    for address in &wanted.addresses {
        let mut seen = whole.clone();
        seen.addresses.retain(|other| other != address);
        only(&seen, format!("add {address}"));
    }
    let mut seen = whole.clone();
    seen.table.as_mut().unwrap().chains.remove("mark-out");
    only(&seen, "replace the nftables table".to_owned());
    let mut seen = whole.clone();
    seen.table.as_mut().unwrap().sets.insert("within".to_owned(), Ranges::default());
    only(&seen, "replace the nftables table".to_owned());
    let mut seen = whole.clone();
    seen.table.as_mut().unwrap().chains.values_mut().for_each(|chain| chain.marks.reverse());
    only(&seen, "replace the nftables table".to_owned());
    let mut seen = whole.clone();
    seen.links[1].up = false;
    only(&seen, "set link eth1 up with MTU 9001".to_owned());
    let mut seen = whole;
    seen.sysctls.insert("net/ipv4/conf/eth0/rp_filter".to_owned(), "1".to_owned());
    only(&seen, "write 2 to /proc/sys/net/ipv4/conf/eth0/rp_filter".to_owned());
}

#[test]
fn a_rule_that_is_there_twice_is_removed_once() {
    let node = node();
    let wanted = DesiredState::of(&node).unwrap();
    let mut seen = fresh(&node);
    fake::settle(&wanted, &mut seen);
    seen.rules.push(RoutingRule::new(IpFamily::V4, TO_PODS, POD_TABLE));
    let plan = KernelPlan::of(&wanted, &seen);
    assert_eq!(lines(&plan.operations), "remove rule 512: from all lookup 9000\n");
}

#[test]
fn a_strangers_link_that_has_our_name_is_not_touched() {
    let node = node();
    let wanted = DesiredState::of(&node).unwrap();
    let mut seen = fresh(&node);
    seen.links[1].mac = Some("02:00:00:00:00:99".parse().unwrap());
    let foreign =
        InterfaceAddress { device: "eth1".to_owned(), address: IpAddr::from([192, 0, 2, 1]), length: 24 };
    seen.addresses.push(foreign.clone());
    let connected = KernelRoute::new(MAIN, "10.0.0.0/20".parse().unwrap(), None, "eth1");
    seen.routes.push(connected.clone());
    let plan = KernelPlan::of(&wanted, &seen);
    assert!(plan.absent.contains("eth1"), "{plan:?}");
    assert!(!lines(&plan.operations).contains("eth1"), "{}", lines(&plan.operations));
    fake::settle(&wanted, &mut seen);
    assert!(seen.addresses.contains(&foreign) && seen.routes.contains(&connected));
}

#[test]
fn a_secondary_interface_has_no_other_address_and_no_subnet_in_the_main_table() {
    let node = node();
    let wanted = DesiredState::of(&node).unwrap();
    let mut seen = fresh(&node);
    fake::settle(&wanted, &mut seen);
    seen.addresses.push(InterfaceAddress {
        device: "eth1".to_owned(),
        address: IpAddr::from([192, 0, 2, 1]),
        length: 24,
    });
    seen.addresses.push(InterfaceAddress {
        device: "eth0".to_owned(),
        address: IpAddr::from([192, 0, 2, 2]),
        length: 24,
    });
    seen.routes.push(KernelRoute::new(MAIN, "10.0.0.0/20".parse().unwrap(), None, "eth1"));
    seen.routes.push(KernelRoute::new(MAIN, "10.0.0.0/20".parse().unwrap(), None, "eth0"));
    assert_eq!(
        lines(KernelPlan::of(&wanted, &seen).operations),
        "remove route 10.0.0.0/20 dev eth1 table 254\nremove address 192.0.2.1/24 dev eth1\n"
    );
}

#[test]
fn a_pod_whose_link_is_not_there_yet_waits_without_holding_others_up() {
    let node = node();
    let wanted = DesiredState::of(&node).unwrap();
    let mut seen = fresh(&node);
    seen.links.retain(|link| link.name != "eni1");
    fake::settle(&wanted, &mut seen);
    let plan = KernelPlan::of(&wanted, &seen);
    assert_eq!(
        (plan.operations.len(), plan.absent.into_iter().collect::<Vec<_>>()),
        (0, vec!["eni1".to_owned()])
    );
}

/// Adds the leftovers of ipamd: two rules for each pod, in its own tables, of no protocol.
pub(super) fn of_ipamd(node: &NodeNetwork, seen: &mut ObservedState) {
    let theirs = |rule: RoutingRule| RoutingRule { protocol: 0, ..rule };
    for pod in &node.pods {
        for address in pod.addresses.iter().filter(|address| address.is_ipv4()) {
            let net = ipnet::IpNet::from(*address);
            seen.rules.push(theirs(RoutingRule::new(IpFamily::V4, TO_PODS, MAIN).to(net)));
            seen.routes.push(KernelRoute { protocol: 3, ..KernelRoute::new(MAIN, net, None, &pod.link) });
            let at = node
                .secondary
                .iter()
                .position(|interface| interface.carries.iter().any(|carried| carried.contains(address)));
            if let Some(table) = at.and_then(|at| u32::try_from(at + 2).ok()) {
                seen.rules.push(theirs(RoutingRule::new(IpFamily::V4, FROM_PODS, table).from(net)));
            }
        }
    }
    seen.rules.push(theirs(RoutingRule::new(IpFamily::V4, 1024, MAIN).mark(0x80)));
    seen.rules.push(theirs(RoutingRule::new(IpFamily::V4, 32765, 2).from("10.0.1.10/32".parse().unwrap())));
    seen.rules.sort_by_key(|rule| rule.priority);
}

#[test]
fn ipamds_rules_are_replaced_without_a_moment_without_a_way() {
    let mut node = node();
    node.settings.adopt = true;
    let wanted = DesiredState::of(&node).unwrap();
    let mut seen = fresh(&node);
    of_ipamd(&node, &mut seen);
    // A pod that was never reported, and a rule of its priority that belongs to no pod.
    let unknown = RoutingRule {
        protocol: 0,
        ..RoutingRule::new(IpFamily::V4, TO_PODS, MAIN).to("10.0.1.40/32".parse().unwrap())
    };
    let other = RoutingRule {
        protocol: 3,
        ..RoutingRule::new(IpFamily::V4, FROM_PODS, 77).from("10.0.1.0/24".parse().unwrap())
    };
    seen.rules.extend([unknown.clone(), other.clone()]);
    fake::migrate(&node, &wanted, &mut seen);
    let left: Vec<&RoutingRule> = seen.rules.iter().filter(|rule| !wanted.rules.contains(rule)).collect();
    let kernels = RoutingRule::new(IpFamily::V4, 32766, MAIN);
    assert_eq!(left, [&kernels, &unknown, &other]);
}

#[test]
fn without_adoption_ipamds_rules_stay() {
    let node = node();
    let wanted = DesiredState::of(&node).unwrap();
    let mut seen = fresh(&node);
    of_ipamd(&node, &mut seen);
    let before = seen.rules.clone();
    fake::settle(&wanted, &mut seen);
    assert!(before.iter().all(|rule| seen.rules.contains(rule)));
}

#[test]
fn a_pods_rule_of_ipamds_stays_until_our_way_is_there() {
    let mut node = node();
    node.settings.adopt = true;
    let wanted = DesiredState::of(&node).unwrap();
    for missing in ["eni1", "eth1"] {
        let mut seen = fresh(&node);
        of_ipamd(&node, &mut seen);
        seen.links.retain(|link| link.name != missing);
        fake::settle(&wanted, &mut seen);
        let pod = "10.0.1.33/32".parse().ok();
        assert!(seen.rules.iter().any(|rule| rule.from == pod && rule.protocol == 0), "{missing}");
    }
}

#[test]
fn a_host_end_that_is_down_is_set_up_before_its_routes_and_only_a_pods_own() {
    let node = node();
    let (wanted, mut seen) = (DesiredState::of(&node).unwrap(), fresh(&node));
    fake::settle(&wanted, &mut seen);
    let end = seen.links.iter_mut().find(|link| link.name == "eni1").unwrap();
    end.up = false;
    assert!(KernelPlan::of(&wanted, &seen).is_empty(), "it is not a veth, so not a pod's");
    seen.links.iter_mut().filter(|link| link.name == "eni1").for_each(|end| end.peer = Some(7));
    seen.routes.retain(|route| route.device != "eni1");
    let mut plan = KernelPlan::of(&wanted, &seen);
    assert_eq!(
        lines(&plan.operations),
        "set link eni1 up\n\
         set route 10.0.1.33/32 dev eni1 table 9000\n\
         set route 2001:db8:0:1::1/128 dev eni1 table 9000\n"
    );
    assert!(plan.operations.iter().all(|operation| operation.pod() == Some("eni1")));
    plan.leave_out(&BTreeMap::from([("eni1".to_owned(), String::new())]), &wanted);
    assert!(plan.is_empty());
}

#[test]
fn what_may_serve_a_pod_that_is_left_out_stays() {
    let mut node = node();
    node.settings.adopt = true;
    let (wanted, mut seen) = (DesiredState::of(&node).unwrap(), fresh(&node));
    of_ipamd(&node, &mut seen);
    fake::settle(&DesiredState { adopted: None, ..wanted.clone() }, &mut seen);
    let taken = |plan: &KernelPlan, address: &str| {
        plan.operations.iter().any(|operation| operation.removes() && operation.to_string().contains(address))
    };
    let mut plan = KernelPlan::of(&wanted, &seen);
    assert!(taken(&plan, "10.0.1.33") && taken(&plan, "10.0.0.33"), "{:?}", plan.operations);
    plan.leave_out(&BTreeMap::from([("eni1".to_owned(), String::new())]), &wanted);
    assert!(!taken(&plan, "10.0.1.33") && taken(&plan, "10.0.0.33"), "{:?}", plan.operations);
}
