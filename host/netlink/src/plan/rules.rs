//! Rules: each of ours once, and ipamd's for the same things gone once ours are there.

use std::collections::BTreeSet;

use super::devices::Devices;
use super::operation::Operation;
use crate::ours;
use crate::parts::RoutingRule;
use crate::seen::ObservedState;
use crate::wanted::DesiredState;

pub(super) fn plan(
    wanted: &DesiredState,
    seen: &ObservedState,
    devices: &Devices<'_>,
    make: &mut Vec<Operation>,
    remove: &mut Vec<Operation>,
) {
    let mut missing = wanted.rules.clone();
    let mut stale: Vec<RoutingRule> = Vec::new();
    for rule in &seen.rules {
        // The second of two equal ones is not missing any more, and so is one too many.
        let extra = ours::is_rule(rule) && !missing.remove(rule);
        if extra || ours::is_adopted(rule, wanted) && is_served(rule, wanted, devices) {
            stale.push(rule.clone());
        }
    }
    // The set is sorted by family and priority: the rules asked first come first. A bucket is filled before a rule points to it, and
    // gets its way out only after all have such a rule.
    let mut missing: Vec<RoutingRule> = missing.into_iter().collect();
    missing.sort_by_key(leads);
    make.extend(missing.into_iter().map(Operation::AddRule));
    stale.sort_by_key(|rule| std::cmp::Reverse((leads(rule), rule.priority)));
    remove.extend(stale.into_iter().map(Operation::RemoveRule));
}

/// The order in which rules are made: those that look up, those that go on for some sources, those that go on for all.
fn leads(rule: &RoutingRule) -> u8 {
    match (rule.goto, rule.from) {
        (None, _) => 0,
        (Some(_), Some(_)) => 1,
        (Some(_), None) => 2,
    }
}

/// Whether what ours need to take over from a rule of ipamd's is there: the links of the pod and of the interface.
fn is_served(rule: &RoutingRule, wanted: &DesiredState, devices: &Devices<'_>) -> bool {
    let Some(adopted) = &wanted.adopted else { return false };
    let pods: BTreeSet<_> = rule.to.iter().chain(&rule.from).map(ipnet::IpNet::addr).collect();
    let pod = pods.iter().find_map(|address| adopted.pods.get(address));
    let tables = wanted.rules.iter().filter(|own| own.goto.is_none());
    let covering =
        tables.filter(|own| rule.from.is_some_and(|from| own.from.is_some_and(|net| net.contains(&from))));
    let interfaces = covering.flat_map(|own| wanted.routes.iter().filter(|route| route.table == own.table));
    let mut interface = interfaces.map(|route| &route.device);
    pod.is_none_or(|link| devices.is_there(link)) && interface.all(|name| devices.is_there(name))
}
