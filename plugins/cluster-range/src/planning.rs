//! Plans: a block is requested when few addresses are free, and one that has been empty for long is offered to the cluster.
//!
//! ```text
//!   free < pre-allocation + requests that wait                     ──▶ request-block, unless one is on its way
//!   empty for the delay, and without it there are still free >= pre-allocation + what one block adds ──▶ give-back-block
//! ```
//!
//! What is offered stays with the node until the cluster asks for it. The addresses of one block are kept beyond the pre-allocation, so that a
//! node on the edge does not ask for the block that it has just offered.

use std::collections::BTreeMap;

use tenure_sdk::ledger::{Pool, room};
use tenure_sdk::{Effect, EffectKind, Object, Refusal, SupplySituation, ledger};

use crate::names::{
    ADDRESSES, BLOCK, EMPTY_BLOCK, EXHAUSTED, IDLE_SECONDS, MESSAGE, NO_FAMILY, POOL, PREALLOCATION, REASON,
    RELEASE_SECONDS,
};
use crate::settings::AddressFamily;

/// The pre-allocation of a host that does not say.
const USUAL_PREALLOCATION: u32 = 16;

/// The delay of a host that does not say: half an hour.
const USUAL_DELAY: u32 = 1800;

/// Plans for every pool that somebody may want addresses of: not for those without a demand, which are for claims, nor for those that have none of
/// their family.
///
/// # Errors
/// [`Refusal::Exhausted`] if requests wait and the cluster has no block for them. Not while one may come to another pool that has nothing
/// free: the situation does not tell which pools the requests wait for, and all of them would be refused. Each needs an address of each family, so all
/// are refused if no pool can have any of one.
pub fn plan(state: &SupplySituation) -> Result<Vec<Effect>, Refusal> {
    let (mut effects, mut exhausted, mut may_come) = (Vec::new(), None, false);
    let all: Vec<Pool> = ledger::pools().collect();
    for pool in all.iter().filter(|pool| may_grow(state, pool)) {
        let free = room(&pool.shelf().usage());
        let wanted = preallocation(state).saturating_add(state.waiting(pool.index));
        let requests =
            |effect: &&Effect| effect.pool == pool.index && effect.kind == EffectKind::RequestBlock;
        let is_pending = state.pending.iter().any(|effect| requests(&effect));
        if free < wanted {
            if free == 0 && state.waiting(pool.index) > 0 {
                match exhausted_words(state, pool) {
                    Some(words) => exhausted = exhausted.or(Some(words)),
                    None => may_come = true,
                }
            }
            if !is_pending {
                let missing = wanted - free;
                let request = Effect::new(EffectKind::RequestBlock, pool.index);
                effects.push(request.with(ADDRESSES, missing.to_string()));
            }
        } else if !is_pending {
            effects.extend(spare(state, pool, free));
        }
    }
    let lacking = lacking_words(state, &all);
    let refused = lacking.or_else(|| exhausted.filter(|_| !may_come));
    match refused {
        Some(words) if effects.is_empty() => Err(Refusal::Exhausted(words)),
        _ => Ok(effects),
    }
}

/// Whether blocks may come to a pool that is for everybody.
fn may_grow(state: &SupplySituation, pool: &Pool) -> bool {
    let is_demanded = state.waiting.iter().any(|(index, _)| *index == pool.index);
    is_demanded && told(state, pool) != Some(NO_FAMILY)
}

/// Words about a family of which the network's pools for everybody have no addresses and get none, if requests wait.
fn lacking_words(state: &SupplySituation, pools: &[Pool]) -> Option<String> {
    if state.waiting.iter().all(|(_, waiting)| *waiting == 0) {
        return None;
    }
    let may_give = |pool: &Pool| {
        let is_demanded = state.waiting.iter().any(|(index, _)| *index == pool.index);
        may_grow(state, pool) || (is_demanded && pool.shelf().usage().total > 0)
    };
    let is_lacking = |family: &AddressFamily| {
        let mut of_family =
            pools.iter().filter(|pool| AddressFamily::of(&pool.name) == Some(*family)).peekable();
        of_family.peek().is_some() && !of_family.any(may_give)
    };
    let family = [AddressFamily::Ipv4, AddressFamily::Ipv6].into_iter().find(is_lacking)?;
    Some(format!("no pool of the network has {} addresses for everybody", family.name()))
}

fn preallocation(state: &SupplySituation) -> u32 {
    state.number(PREALLOCATION).unwrap_or(USUAL_PREALLOCATION)
}

/// The reason for which no block of a pool comes.
fn told<'a>(state: &'a SupplySituation, pool: &Pool) -> Option<&'a str> {
    state.objects(POOL).find(|object| object.name == pool.name)?.attributes.get(REASON)
}

/// The operator's word that no block of a pool is free.
fn exhausted_words(state: &SupplySituation, pool: &Pool) -> Option<String> {
    let told = state.objects(POOL).find(|object| object.name == pool.name)?;
    let words = told.attributes.get(MESSAGE).unwrap_or("no block is free");
    (told.attributes.get(REASON) == Some(EXHAUSTED)).then(|| format!("pool {}: {words}", pool.name))
}

/// The blocks of a pool that the node does not need, the highest addresses first.
fn spare(state: &SupplySituation, pool: &Pool, mut free: u32) -> Vec<Effect> {
    let delay = state.number(RELEASE_SECONDS).unwrap_or(USUAL_DELAY);
    let idle: BTreeMap<&str, &Object> =
        state.objects(EMPTY_BLOCK).map(|object| (object.name.as_str(), object)).collect();
    let blocks: Vec<_> = pool.shelf().usage_by(BLOCK).filter(|(_, usage)| usage.total > 0).collect();
    let (mut left, mut effects) = (blocks.len(), Vec::new());
    for (block, usage) in blocks.into_iter().rev() {
        let is_idle = idle
            .get(block.as_str())
            .and_then(|object| object.number(IDLE_SECONDS))
            .is_some_and(|seconds| seconds >= delay);
        let is_empty = usage.held == 0 && usage.cooling == 0;
        let rest = free.saturating_sub(usage.total);
        let reserve = preallocation(state).saturating_add(usage.total);
        if left > 1 && is_idle && is_empty && rest >= reserve {
            effects.push(Effect::new(EffectKind::GiveBackBlock, pool.index).with(BLOCK, block));
            (free, left) = (rest, left - 1);
        }
    }
    effects
}
