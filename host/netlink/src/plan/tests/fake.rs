//! A kernel that carries operations out on a value, and finds a packet's way in it.

use std::net::IpAddr;

use crate::node::NodeNetwork;
use crate::parts::{IpFamily, RoutingRule};
use crate::plan::{KernelPlan, Operation};
use crate::seen::ObservedState;
use crate::wanted::DesiredState;

/// Carries an operation out as the kernel does.
pub(crate) fn carry_out(seen: &mut ObservedState, operation: &Operation) {
    match operation {
        Operation::WriteSysctl { key, value } => drop(seen.sysctls.insert(key.clone(), value.clone())),
        Operation::SetLink { name, mtu } => {
            let link = seen.links.iter_mut().find(|link| link.name == *name).unwrap();
            (link.up, link.mtu) = (true, *mtu);
        }
        Operation::RaiseLink { name } => {
            seen.links.iter_mut().find(|link| link.name == *name).unwrap().up = true;
        }
        Operation::AddAddress(address) => seen.addresses.push(address.clone()),
        Operation::RemoveAddress(address) => seen.addresses.retain(|other| other != address),
        Operation::SetRoute(route) => {
            assert!(seen.link(&route.device).is_some(), "{route}: no such link");
            match seen.routes.iter_mut().find(|other| other.key() == route.key()) {
                Some(other) => *other = route.clone(),
                None => seen.routes.push(route.clone()),
            }
        }
        Operation::RemoveRoute(route) => seen.routes.retain(|other| other != route),
        Operation::ReplaceTable(table) => seen.table = Some(table.shape()),
        Operation::RemoveTable => seen.table = None,
        Operation::AddRule(rule) => {
            assert!(!seen.rules.contains(rule), "{rule} is there already");
            let at = seen.rules.iter().position(|other| other.priority > rule.priority);
            seen.rules.insert(at.unwrap_or(seen.rules.len()), rule.clone());
        }
        Operation::RemoveRule(rule) => {
            let at = seen.rules.iter().position(|other| other == rule).unwrap();
            seen.rules.remove(at);
        }
    }
}

/// Plans and carries out until nothing is left; panics if that does not end.
pub(crate) fn settle(wanted: &DesiredState, seen: &mut ObservedState) {
    for _ in 0..3 {
        let plan = KernelPlan::of(wanted, seen);
        if plan.is_empty() {
            return;
        }
        plan.operations.iter().for_each(|operation| carry_out(seen, operation));
    }
    assert_eq!(KernelPlan::of(wanted, seen).operations, [], "does not settle");
}

/// The same, watching that what had a way keeps one at each step.
pub(crate) fn migrate(node: &NodeNetwork, wanted: &DesiredState, seen: &mut ObservedState) {
    for _ in 0..3 {
        for operation in KernelPlan::of(wanted, seen).operations {
            let before = ways(node, seen);
            carry_out(seen, &operation);
            for (before, after) in before.into_iter().zip(ways(node, seen)) {
                assert!(before.is_none() || after.is_some(), "{operation}: {before:?} lost its way");
            }
        }
    }
    assert_eq!(KernelPlan::of(wanted, seen).operations, [], "does not settle");
}

/// For each pod: the link that packets to it take, and the table that routes packets from it.
fn ways(node: &NodeNetwork, seen: &ObservedState) -> Vec<Option<(IpAddr, String)>> {
    let addresses = node.pods.iter().flat_map(|pod| &pod.addresses);
    let to = addresses.clone().map(|address| {
        let rules = rules(seen, |rule| rule.from.is_none() && rule.to.is_none_or(|to| to.contains(address)));
        let route = rules.into_iter().find_map(|rule| {
            seen.routes.iter().find(|route| route.table == rule.table && route.to.contains(address))
        });
        route.map(|route| (*address, route.device.clone()))
    });
    let from =
        addresses.map(|address| source(seen, *address).0.map(|table| (*address, format!("table {table}"))));
    to.chain(from).collect()
}

/// The interface's table that routes a source, and how many rules were asked.
pub(crate) fn source(seen: &ObservedState, address: IpAddr) -> (Option<u32>, usize) {
    let (mut next, mut asked) = (0, 0);
    for rule in seen.rules.iter().filter(|rule| rule.mark.is_none() && rule.to.is_none()) {
        if rule.priority < next || rule.family != IpFamily::of_address(address) {
            continue;
        }
        asked += 1;
        let matches = rule.from.is_none_or(|from| from.contains(&address));
        let there = |target: &u32| seen.rules.iter().any(|other| other.priority == *target);
        match rule.goto.filter(|_| matches) {
            Some(target) if there(&target) => next = target,
            _ if matches && rule.from.is_some() && rule.goto.is_none() => return (Some(rule.table), asked),
            _ => {}
        }
    }
    (None, asked)
}

fn rules(seen: &ObservedState, filter: impl Fn(&RoutingRule) -> bool) -> Vec<&RoutingRule> {
    seen.rules.iter().filter(|rule| rule.mark.is_none() && filter(rule)).collect()
}
