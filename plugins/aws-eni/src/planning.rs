//! Plans: from the state of the node to the changes of its supply, for each pool.
//!
//! `grow` covers the whole need at once, `shrink` gives back what growth would not ask for again. Both are pure.

mod action;
mod grow;
mod rule;
mod shrink;
mod spots;

use tenure_sdk::ledger::Pool;
use tenure_sdk::{Effect, Refusal, SupplySituation, ledger};

use self::action::Action;
use self::grow::{Growth, Lack, grow, impossible};
use self::rule::PoolRule;
use self::shrink::shrink;
use crate::names::{FALSE, IPV4, IPV6, TRUE};
use crate::present::Present;
use crate::settings::{AwsSettings, InForce};
use crate::supply::look;

/// Plans for every pool.
///
/// # Errors
/// If more is wanted and nothing can be done: [`Refusal::Exhausted`] if nothing more fits until the state changes, and
/// [`Refusal::NotYet`] while EC2 should not be asked.
pub fn plan(settings: &AwsSettings, state: &SupplySituation) -> Result<Vec<Effect>, Refusal> {
    let (mut effects, mut lacks) = (Vec::new(), Vec::new());
    if settings.fixed {
        return Ok(effects);
    }
    let in_force = settings.in_force(&Present::of(state));
    for pool in ledger::pools().filter(|pool| pool.name == IPV4 || pool.name == IPV6) {
        let (actions, lack) = plan_of(settings, &in_force, state, &pool);
        effects.extend(actions.into_iter().map(|action| action.effect(pool.index)));
        lacks.extend(lack.map(|lack| (pool.name, lack)));
    }
    for (pool, lack) in &lacks {
        tenure_sdk::debug(&format!("pool {pool}: {}", lack.words()));
    }
    // Full rather than waiting: one pool without an address is enough to refuse a pod.
    lacks.sort_by_key(|(_, lack)| matches!(lack, Lack::Waiting(_)));
    match lacks.into_iter().next() {
        Some((pool, Lack::Full(words))) if effects.is_empty() => {
            Err(Refusal::Exhausted(format!("pool {pool} is full: {words}")))
        }
        Some((pool, Lack::Waiting(words))) if effects.is_empty() => {
            Err(Refusal::not_yet(format!("pool {pool} cannot grow yet: {words}")))
        }
        _ => Ok(effects),
    }
}

/// Plans for a pool, and says what it lacks in spite of that.
fn plan_of(
    settings: &AwsSettings,
    in_force: &InForce,
    state: &SupplySituation,
    pool: &Pool,
) -> (Vec<Action>, Option<Lack>) {
    let is = |name: &str, value: &str| state.attributes.get(name) == Some(value);
    let supply = look(settings, state, pool);
    let has_prefixes = !is("prefixes.supported", FALSE);
    let rule = PoolRule::of(settings, in_force, &supply, &pool.name, has_prefixes);
    let only_demand = is("schedulable", FALSE) && !settings.grow_unschedulable;
    let is_terminating = is("terminating", TRUE);
    let growth = match pool.name == IPV6 && !has_prefixes {
        _ if is_terminating => Growth::default(),
        true => impossible(&supply, &rule, "the instance type has no prefixes, which IPv6 needs"),
        false => grow(&supply, &rule, only_demand),
    };
    let reason = rule.explain(&supply.counts(Some(rule.unit)));
    tenure_sdk::debug(&format!("pool {}: {reason}", pool.name));
    let is_steady = growth.steps.is_empty() && !supply.is_growing();
    let lack = growth.lack.filter(|_| is_steady);
    // The instance takes all of it along.
    let given_back = if is_terminating { Vec::new() } else { shrink(&supply, &rule, is_steady) };
    let steps = growth.steps.into_iter().chain(given_back);
    (steps.map(|step| Action { step, reason: reason.clone() }).collect(), lack)
}
