//! Shrinking: unused ranges and interfaces that growth would not ask for again, the emptiest interfaces first.
//!
//! Nothing is given back that is held, cooling, or has been unused for too short a time.

mod victims;

use std::cmp::Reverse;

use self::victims::Victims;
use super::action::PlanStep;
use super::rule::PoolRule;
use crate::settings::WarmTarget;
use crate::supply::{InterfaceDuty, NodeInterface, PoolCounts, PoolSupply, RangeRun, RangeUnit};

/// How old an interface must be before it is detached, in seconds, as in ipamd.
const LEAST_AGE: u32 = 60;

/// For how many idle times the first of a surplus is kept, so that others go with it.
const PATIENCE: u32 = 3;

/// The same for prefixes: one is enough for many pods, and those that end give it room again, so that one which goes is soon asked for again.
const PATIENCE_FOR_PREFIXES: u32 = 30;

/// The most steps of one plan. What is left is for the next.
const MOST_STEPS: usize = 128;

/// Plans what to give back. Unless the pool `is_steady`, only what pods get no addresses of.
pub(super) fn shrink(supply: &PoolSupply, rule: &PoolRule<'_>, is_steady: bool) -> Vec<PlanStep> {
    let mut victims = Victims::new(supply);
    victims.take_all(|interface, run| {
        let is_over = interface.duty == InterfaceDuty::Retired || !run.is_open;
        is_over && run.is_unused()
    });
    let gives_back = is_steady && rule.gives_back && surplus(supply, rule, &mut victims);
    let mut steps = Vec::new();
    for (index, interface) in supply.interfaces.iter().enumerate() {
        let is_retired = interface.duty == InterfaceDuty::Retired;
        let may_go = rule.detaches && (gives_back || is_retired) && interface.is_removable(LEAST_AGE);
        match may_go && victims.has_all(index) {
            true => steps.push(PlanStep::Detach { interface: interface.name.clone() }),
            false => steps.extend(
                victims.of(index).map(|run| PlanStep::Release { range: run.name.clone(), unit: run.unit }),
            ),
        }
    }
    steps.truncate(MOST_STEPS);
    steps
}

/// Takes what is surplus. Whether the pool has what it needs.
fn surplus<'a>(supply: &'a PoolSupply, rule: &PoolRule<'_>, victims: &mut Victims<'a>) -> bool {
    let is_idle = |run: &RangeRun| run.is_unused() && run.idle >= rule.idle;
    let own = supply.counts(Some(rule.unit));
    if rule.wanted(&own) == 0 {
        // What is of the other kind is not needed any more.
        victims.take_all(|_, run| run.unit != rule.unit && is_idle(run));
        own_surplus(supply, rule, own, victims);
        return true;
    }
    let mut all = supply.counts(None);
    if rule.wanted(&all) > 0 {
        return false;
    }
    // The pool lives on both kinds, because there is no more of its own.
    for interface in packing(supply) {
        for run in victims.left(interface).filter(|run| run.unit != rule.unit && is_idle(run)) {
            let rest = all.without(run);
            if rule.wanted(&rest) == 0 {
                victims.take(run);
                all = rest;
            }
        }
    }
    convert(supply, rule, victims, is_idle);
    true
}

/// Makes room for the own kind if all slots are taken by the other: one at a time.
fn convert(
    supply: &PoolSupply,
    rule: &PoolRule<'_>,
    victims: &mut Victims<'_>,
    is_idle: impl Fn(&RangeRun) -> bool,
) {
    let has_slots = |interface: &NodeInterface| interface.takes_more() && interface.slots > 0;
    if !victims.is_empty() || supply.waiting > 0 || supply.interfaces.iter().any(has_slots) {
        return;
    }
    let size = supply.size(rule.unit);
    for interface in packing(supply) {
        let Some(interface_of) = supply.interfaces.get(interface).filter(|interface| interface.takes_more())
        else {
            continue;
        };
        let subnet = supply.subnet(interface_of.subnet.as_deref());
        if subnet.is_some_and(|subnet| subnet.has(rule.unit, size) == 0) {
            continue;
        }
        let found = victims.left(interface).find(|run| run.unit != rule.unit && is_idle(run));
        if let Some(run) = found {
            victims.take(run);
            return;
        }
    }
}

fn own_surplus<'a>(
    supply: &'a PoolSupply,
    rule: &PoolRule<'_>,
    mut counts: PoolCounts,
    victims: &mut Victims<'a>,
) {
    let is_idle = |run: &RangeRun| run.is_unused() && run.idle >= rule.idle;
    let mut chosen = Vec::new();
    for interface in packing(supply) {
        if matches!(rule.target, WarmTarget::Interfaces(_)) {
            let removable =
                supply.interfaces.get(interface).is_some_and(|interface| interface.is_removable(LEAST_AGE));
            let runs: Vec<&RangeRun> = victims.left(interface).collect();
            let rest = runs.iter().fold(counts, |rest, run| rest.without(run));
            let is_spare = removable && runs.iter().all(|run| is_idle(run));
            if is_spare && rule.has_an_interface_too_many(&counts) && rule.is_kept_by(&rest) {
                runs.into_iter().for_each(|run| victims.take(run));
                counts = rest;
            }
            continue;
        }
        for run in victims.left(interface).filter(|run| run.unit == rule.unit && is_idle(run)) {
            let rest = counts.without(run);
            if rule.is_kept_by(&rest) {
                chosen.push(run);
                counts = rest;
            }
        }
    }
    if is_time(supply, rule, chosen.len()) {
        chosen.into_iter().for_each(|run| victims.take(run));
    }
}

/// Whether so many ranges have been surplus for long enough to give them back: then one call gives back what pods have left in
/// minutes, and what the next pods need has not gone.
fn is_time(supply: &PoolSupply, rule: &PoolRule<'_>, surplus: usize) -> bool {
    let runs = supply.interfaces.iter().flat_map(|interface| &interface.runs);
    let own = runs.filter(|run| run.unit == rule.unit && run.is_unused() && run.idle >= rule.idle);
    let mut idle: Vec<u32> = own.map(|run| run.idle).collect();
    idle.sort_unstable();
    // Those that are needed are the ones that have been unused the longest.
    let first = surplus.checked_sub(1).and_then(|last| idle.get(last));
    let times = match rule.unit {
        RangeUnit::Address => PATIENCE,
        RangeUnit::Prefix => PATIENCE_FOR_PREFIXES,
    };
    first.is_some_and(|first| *first >= rule.idle.saturating_mul(times))
}

/// The interfaces in the order in which they are emptied: those with the fewest used addresses and then the fewest ranges
/// first, and the primary one last.
fn packing(supply: &PoolSupply) -> Vec<usize> {
    let mut order: Vec<(usize, &NodeInterface)> = supply.interfaces.iter().enumerate().collect();
    order.sort_by_key(|(_, interface)| {
        (interface.is_primary, interface.used(), interface.runs.len(), Reverse(interface.name.as_str()))
    });
    order.into_iter().map(|(index, _)| index).collect()
}
