use tenure_types::Attributes;

use super::*;
use crate::budget::Unit;
use crate::port::{Ec2Interface, Status};
use crate::samples::{Ledger, intent, interface, seconds, situation, subnet};
use crate::seen::SeenNode;
use crate::situation::Barred;
use crate::witness::UseVerdict;

struct Says(UseVerdict);

impl UseWitness for Says {
    fn named(&self, net: ipnet::IpNet) -> Result<Vec<(std::net::IpAddr, String)>, String> {
        match &self.0 {
            UseVerdict::Unused => Ok(Vec::new()),
            UseVerdict::Used(by) => Ok(vec![(net.addr(), by.clone())]),
            UseVerdict::Unknown(why) => Err(why.clone()),
        }
    }
}

struct Numbers;

impl Ids for Numbers {
    fn new_id(&self) -> IntentId {
        IntentId::new("intent-9").unwrap()
    }
}

fn effect(kind: EffectKind, attributes: &[(&str, &str)]) -> Effect {
    Effect { kind, pool: 0, attributes: Attributes::new(attributes.iter().copied()).unwrap() }
}

fn detach() -> Effect {
    effect(EffectKind::DetachInterface, &[("interface", "eni-1")])
}

fn release() -> Effect {
    effect(EffectKind::ReleaseAddress, &[("range", "10.0.0.6/32")])
}

fn assign(count: &str) -> Effect {
    effect(EffectKind::AssignAddress, &[("interface", "eni-1"), ("count", count)])
}

fn attach(attributes: &[(&str, &str)]) -> Effect {
    effect(EffectKind::AttachInterface, attributes)
}

/// A node with two interfaces, and its ledger.
fn node() -> (Situation, Ledger) {
    with(secondary())
}

fn with(secondary_is: Ec2Interface) -> (Situation, Ledger) {
    (situation(&[primary(), secondary_is]), Ledger::of(&[primary(), secondary()]))
}

fn primary() -> Ec2Interface {
    interface("eni-0", 0, &["10.0.0.5/32"])
}

fn secondary() -> Ec2Interface {
    interface("eni-1", 1, &["10.0.0.6/32", "10.0.0.32/28"])
}

fn check_by(
    verdict: UseVerdict,
    (situation, ledger): &(Situation, Ledger),
    effect: &Effect,
) -> Result<(), String> {
    Guards::new(situation, &Says(verdict), &Numbers).check(effect, &ledger.book)
}

fn check(node: &(Situation, Ledger), effect: &Effect) -> Result<(), String> {
    check_by(UseVerdict::Unused, node, effect)
}

#[track_caller]
fn refuses(node: &(Situation, Ledger), effect: &Effect, why: &str) {
    assert_eq!(check(node, effect), Err(why.to_owned()));
}

#[test]
fn what_two_witnesses_call_unused_may_go() {
    assert_eq!(check(&node(), &detach()), Ok(()));
    assert_eq!(check(&node(), &release()), Ok(()));
}

#[test]
fn the_primary_interface_stays() {
    let effect = effect(EffectKind::DetachInterface, &[("interface", "eni-0")]);
    refuses(&node(), &effect, "interface eni-0 is the primary one");
}

#[test]
fn a_young_interface_stays() {
    let mut node = node();
    node.0.wall = 1059;
    refuses(&node, &detach(), "interface eni-1 is 59 s old, and stays for 60 s at least");
    node.0.wall = 1060;
    assert_eq!(check(&node, &detach()), Ok(()));
}

#[test]
fn what_is_held_or_cools_stays() {
    let mut node = node();
    node.1.hold("10.0.0.33");
    refuses(&node, &detach(), "1 addresses of interface eni-1 have owners");
    assert_eq!(check(&node, &release()), Ok(()), "it is another range");
    node.1.release("10.0.0.33");
    refuses(&node, &detach(), "1 addresses of interface eni-1 are cooling");
    node.1.hold("10.0.0.6");
    refuses(&node, &release(), "1 addresses of range 10.0.0.6/32 have owners");
    node.1.release("10.0.0.6");
    refuses(&node, &release(), "1 addresses of range 10.0.0.6/32 are cooling");
}

#[test]
fn what_is_in_quarantine_stays_and_has_no_owner() {
    let mut node = node();
    node.1.quarantine("10.0.0.6");
    refuses(&node, &release(), "1 addresses of range 10.0.0.6/32 are in quarantine");
    refuses(&node, &detach(), "1 addresses of interface eni-1 are in quarantine");
    node.1.hold("10.0.0.33");
    refuses(&node, &detach(), "1 addresses of interface eni-1 have owners");
}

#[test]
fn trunks_efas_and_what_is_unmanaged_are_left_alone() {
    for kind in ["trunk", "efa", "efa-only"] {
        let node = with(Ec2Interface { kind: kind.to_owned(), ..secondary() });
        for effect in [detach(), release(), assign("1")] {
            refuses(&node, &effect, &format!("interface eni-1 is not managed here: it is of type {kind}"));
        }
    }
    let tags = [(names::UNMANAGED_TAG.to_owned(), "true".to_owned())].into();
    let node = with(Ec2Interface { tags, ..secondary() });
    let why = "interface eni-1 is not managed here: its tag node.k8s.amazonaws.com/no_manage is true";
    refuses(&node, &detach(), why);
}

#[test]
fn a_floor_stays_whatever_the_policy_says() {
    let mut node = node();
    node.0.floor = 2;
    refuses(&node, &detach(), "1 addresses of pool ipv4 would be left, and the node keeps 2");
    // What earlier effects of the same plan take counts.
    node.0.floor = 17;
    let says = Says(UseVerdict::Unused);
    let guards = Guards::new(&node.0, &says, &Numbers);
    assert_eq!(guards.check(&release(), &node.1.book), Ok(()));
    let other = effect(EffectKind::ReleaseAddress, &[("range", "10.0.0.5/32")]);
    let why = "16 addresses of pool ipv4 would be left, and the node keeps 17";
    assert_eq!(guards.check(&other, &node.1.book), Err(why.to_owned()));
}

#[test]
fn what_drains_already_may_go_below_the_floor() {
    let mut node = node();
    node.0.floor = 1000;
    node.1.drain("10.0.0.6/32");
    assert_eq!(check(&node, &release()), Ok(()));
}

#[test]
fn what_ec2_does_not_show_stays() {
    let mut node = node();
    let other = |id| effect(EffectKind::DetachInterface, &[("interface", id)]);
    refuses(&node, &other("eni-9"), "EC2 has not shown an interface eni-9");
    node.0.seen.expect("eni-8", [], seconds(0));
    refuses(&node, &other("eni-8"), "only the ledger knows of interface eni-8");
    node.0.seen.described(&[primary()], seconds(1001));
    node.0.now = seconds(1011);
    refuses(&node, &detach(), "interface eni-1 is in doubt: EC2 did not show it 10 s ago");
    node.0.seen.described(&[primary()], seconds(1061));
    for effect in [detach(), release(), assign("1")] {
        refuses(&node, &effect, "interface eni-1 is quarantined: EC2 does not show it any more");
    }
}

#[test]
fn an_interface_of_which_ec2_does_not_show_a_range_stays() {
    let mut node = node();
    node.0.seen.described(&[primary(), interface("eni-1", 1, &["10.0.0.6/32"])], seconds(1001));
    refuses(&node, &detach(), "EC2 does not show 10.0.0.32/28 on interface eni-1");
    assert_eq!(check(&node, &release()), Ok(()), "that one is shown");
}

#[test]
fn ec2s_word_counts_for_five_minutes_and_for_one_address_for_three_hours() {
    let mut node = node();
    node.0.now = seconds(1301);
    refuses(&node, &detach(), "EC2 last confirmed this 301 s ago, which counts for 300 s");
    assert_eq!(check(&node, &release()), Ok(()));
    node.0.now = seconds(1000 + 3 * 3600 + 1);
    refuses(&node, &release(), "EC2 last confirmed this 10801 s ago, which counts for 10800 s");
    node.0.seen = SeenNode::new("i-1", seconds(60), true);
    refuses(&node, &detach(), "EC2 has not said yet what this node has");
}

#[test]
fn without_the_second_witness_nothing_goes() {
    for effect in [detach(), release()] {
        let by = |verdict| check_by(verdict, &node(), &effect).unwrap_err();
        let used = by(UseVerdict::Used("route 10.0.0.6 dev eni7".to_owned()));
        assert_eq!(used, "it is in use: route 10.0.0.6 dev eni7");
        let unknown = by(UseVerdict::Unknown("the runtime does not answer".to_owned()));
        assert_eq!(unknown, "whether it is in use is not known: the runtime does not answer");
    }
    assert_eq!(check_by(UseVerdict::Unknown(String::new()), &node(), &assign("1")), Ok(()));
}

#[test]
fn an_interface_on_its_way_gets_and_loses_nothing() {
    let node = with(Ec2Interface { status: Status::Attaching, ..secondary() });
    for effect in [detach(), release(), assign("1")] {
        refuses(&node, &effect, "interface eni-1 is not in use yet");
    }
}

#[test]
fn no_more_is_assigned_than_fits() {
    let mut node = node();
    refuses(&node, &assign("2"), "interface eni-1 has room for 1, not for 2");
    let (says, full) = (Says(UseVerdict::Unused), "interface eni-1 has room for 0, not for 1");
    let guards = Guards::new(&node.0, &says, &Numbers);
    assert_eq!(guards.check(&assign("1"), &node.1.book), Ok(()));
    assert_eq!(guards.check(&assign("1"), &node.1.book), Err(full.to_owned()), "in the same plan");
    drop(guards);
    let coming = [("interface", "eni-1"), ("count", "1")];
    node.0.open = vec![intent(EffectKind::AssignAddress, &coming, &[])];
    refuses(&node, &assign("1"), full);
    for count in ["0", "x", "-1"] {
        refuses(&node, &assign(count), "its attribute count is not a number above 0");
    }
}

#[test]
fn no_more_interfaces_are_attached_than_fit() {
    let mut node = node();
    let (says, one) = (Says(UseVerdict::Unused), attach(&[("addresses", "3")]));
    let guards = Guards::new(&node.0, &says, &Numbers);
    assert_eq!(guards.check(&one, &node.1.book), Ok(()));
    let why = "of 3 interfaces, 2 are attached and 1 are coming";
    assert_eq!(guards.check(&one, &node.1.book), Err(why.to_owned()));
    drop(guards);
    refuses(&node, &attach(&[("addresses", "4")]), "a new interface has room for 3, not for 4");
    node.0.limits = None;
    refuses(&node, &one, "the limits of the instance type are not known");
}

#[test]
fn interfaces_are_created_only_in_subnets_that_exist_and_are_meant_for_it() {
    let mut node = node();
    let there = |id: &str| attach(&[("addresses", "1"), ("subnet", id)]);
    refuses(&node, &there("subnet-7"), "there is no subnet subnet-7");
    node.0.subnets.push(subnet(2, &[]));
    refuses(&node, &there("subnet-2"), "no interface may be created in subnet subnet-2");
    node.0.backoffs.insert(("subnet-1".to_owned(), Unit::Address), seconds(30));
    let why = "subnet subnet-1 is exhausted; EC2 is asked again in 30 s";
    refuses(&node, &there("subnet-1"), why);
    refuses(&node, &assign("1"), why);
    node.0.backoffs.clear();
    node.0.barred.push(Barred {
        call: "CreateNetworkInterface",
        subnet: None,
        code: "UnauthorizedOperation".to_owned(),
        why: "UnauthorizedOperation: no".to_owned(),
        left: seconds(500),
    });
    let why = "EC2 refuses CreateNetworkInterface, and is asked again in 500 s: UnauthorizedOperation: no";
    refuses(&node, &there("subnet-1"), why);
}

#[test]
fn prefixes_are_assigned_only_where_there_are_prefixes() {
    let mut node = node();
    node.0.limits.as_mut().unwrap().prefixes = false;
    let assign = effect(EffectKind::AssignPrefix, &[("interface", "eni-1"), ("count", "1")]);
    refuses(&node, &assign, "the instance type has no prefixes");
    refuses(&node, &attach(&[("prefixes", "1")]), "the instance type has no prefixes");
}

#[test]
fn nothing_grows_on_a_node_that_ends_or_on_an_interface_that_serves_no_new_pods() {
    let mut node = node();
    node.0.settings.custom_network = true;
    let primary = effect(EffectKind::AssignAddress, &[("interface", "eni-0"), ("count", "1")]);
    refuses(&node, &primary, "interface eni-0 serves no new pods");
    node.0.node.terminating = true;
    refuses(&node, &assign("1"), "the instance is about to end");
}

#[test]
fn a_fixed_supply_never_changes_and_blocks_are_somebody_elses() {
    let mut node = node();
    refuses(
        &node,
        &effect(EffectKind::RequestBlock, &[]),
        "request-block is not supported by AWS interfaces",
    );
    node.0.settings.fixed = true;
    for effect in [detach(), release(), assign("1"), attach(&[("addresses", "1")])] {
        refuses(&node, &effect, "the settings fixedSupply or imdsOnly allow no change");
    }
}

#[test]
fn ipv6_is_counted_by_itself() {
    let four = effect(EffectKind::AssignPrefix, &[("interface", "eni-1"), ("count", "4")]);
    assert_eq!(check(&node(), &Effect { pool: 1, ..four }), Ok(()));
    let single = Effect { pool: 1, ..assign("1") };
    refuses(&node(), &single, "addresses of IPv6 are assigned as prefixes only");
}

/// A kernel that has no link but the primary interface's.
struct OneLink;

impl UseWitness for OneLink {
    fn named(&self, _: ipnet::IpNet) -> Result<Vec<(std::net::IpAddr, String)>, String> {
        Ok(Vec::new())
    }

    fn has_link(&self, mac: &str) -> Option<bool> {
        Some(mac == primary().mac)
    }
}

#[test]
fn an_interface_that_the_kernel_does_not_have_is_not_detached() {
    let (situation, ledger) = node();
    let refused = Guards::new(&situation, &OneLink, &Numbers).check(&detach(), &ledger.book);
    assert_eq!(refused, Err("interface eni-1 has no link on this machine".to_owned()));
}
