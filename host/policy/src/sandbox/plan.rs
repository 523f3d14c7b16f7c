//! Plans: from the state of a network's supply to the changes that a policy wants, read as untrusted data.
//!
//! Each effect must have been granted to the policy. The engine checks it against the ledger, and the executor checks it
//! against rules of its own.

use tenure_ledger::Book;
use tenure_types::{Demand, Effect, EffectKind, Object, PlanState};

use super::answer::{Nonsense, attributes};
use super::bindings::planner::exports::tenure::supply::planning;
use super::to_wit;

/// The most effects of one plan.
const MOST_EFFECTS: usize = 256;

/// Reads a plan, of which each effect must have been granted.
pub(super) fn plan(
    answer: &[planning::Effect],
    book: &Book,
    granted: &[EffectKind],
) -> Result<Vec<Effect>, Nonsense> {
    if answer.len() > MOST_EFFECTS {
        return Err(Nonsense::LongPlan(answer.len(), MOST_EFFECTS));
    }
    let pools = book.pools().len();
    let effect = |effect: &planning::Effect| {
        let kind = match &effect.kind {
            planning::EffectKind::AttachInterface => EffectKind::AttachInterface,
            planning::EffectKind::DetachInterface => EffectKind::DetachInterface,
            planning::EffectKind::AssignAddress => EffectKind::AssignAddress,
            planning::EffectKind::ReleaseAddress => EffectKind::ReleaseAddress,
            planning::EffectKind::AssignPrefix => EffectKind::AssignPrefix,
            planning::EffectKind::ReleasePrefix => EffectKind::ReleasePrefix,
            planning::EffectKind::RequestBlock => EffectKind::RequestBlock,
            planning::EffectKind::GiveBackBlock => EffectKind::GiveBackBlock,
            planning::EffectKind::Other(name) => return Err(Nonsense::unknown("an effect", name)),
        };
        if !granted.contains(&kind) {
            return Err(Nonsense::NotGranted(kind.name()));
        }
        let pool = usize::try_from(effect.pool).ok().filter(|pool| *pool < pools);
        Ok(Effect {
            kind,
            pool: pool.ok_or(Nonsense::NoSuchPool(effect.pool, pools))?,
            attributes: attributes("an effect", &effect.attributes)?,
        })
    };
    answer.iter().map(effect).collect()
}

/// Converts a situation to the interface's types.
pub(super) fn situation(state: &PlanState) -> planning::Situation {
    let demand = |demand: &Demand| planning::Demand {
        pool: index(demand.pool),
        waiting: demand.waiting,
        attributes: to_wit::attributes(&demand.attributes),
    };
    let object = |object: &Object| planning::Object {
        kind: object.kind.clone(),
        name: object.name.clone(),
        attributes: to_wit::attributes(&object.attributes),
    };
    planning::Situation {
        demands: state.demands.iter().map(demand).collect(),
        objects: state.objects.iter().map(object).collect(),
        pending: state.pending.iter().map(wit_effect).collect(),
        attributes: to_wit::attributes(&state.attributes),
    }
}

/// A network has far fewer pools than a `u32` can count.
fn index(pool: usize) -> u32 {
    u32::try_from(pool).unwrap_or(u32::MAX)
}

fn wit_effect(effect: &Effect) -> planning::Effect {
    let kind = match effect.kind {
        EffectKind::AttachInterface => planning::EffectKind::AttachInterface,
        EffectKind::DetachInterface => planning::EffectKind::DetachInterface,
        EffectKind::AssignAddress => planning::EffectKind::AssignAddress,
        EffectKind::ReleaseAddress => planning::EffectKind::ReleaseAddress,
        EffectKind::AssignPrefix => planning::EffectKind::AssignPrefix,
        EffectKind::ReleasePrefix => planning::EffectKind::ReleasePrefix,
        EffectKind::RequestBlock => planning::EffectKind::RequestBlock,
        EffectKind::GiveBackBlock => planning::EffectKind::GiveBackBlock,
    };
    planning::Effect { kind, pool: index(effect.pool), attributes: to_wit::attributes(&effect.attributes) }
}
