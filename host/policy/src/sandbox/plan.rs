//! Plans: from the state of a network's supply to the changes that a policy wants, read as untrusted data.
//!
//! Each effect must have been granted to the policy. The engine checks it against the ledger, and the executor checks it
//! against rules of its own.

use tenure_ledger::Book;
use tenure_types::{Demand, Effect, EffectKind, Object, PlanState};

use super::answer::{Nonsense, attributes};
use super::bindings::tenure::ipam::types;
use super::to_wit;

/// The most effects of one plan.
const MOST_EFFECTS: usize = 256;

/// Reads a plan, of which each effect must have been granted.
pub(super) fn plan(
    answer: &[types::Effect],
    book: &Book,
    granted: &[EffectKind],
) -> Result<Vec<Effect>, Nonsense> {
    if answer.len() > MOST_EFFECTS {
        return Err(Nonsense::LongPlan(answer.len(), MOST_EFFECTS));
    }
    let pools = book.pools().len();
    let effect = |effect: &types::Effect| {
        let kind = match &effect.kind {
            types::EffectKind::AttachInterface => EffectKind::AttachInterface,
            types::EffectKind::DetachInterface => EffectKind::DetachInterface,
            types::EffectKind::AssignAddress => EffectKind::AssignAddress,
            types::EffectKind::ReleaseAddress => EffectKind::ReleaseAddress,
            types::EffectKind::AssignPrefix => EffectKind::AssignPrefix,
            types::EffectKind::ReleasePrefix => EffectKind::ReleasePrefix,
            types::EffectKind::RequestBlock => EffectKind::RequestBlock,
            types::EffectKind::GiveBackBlock => EffectKind::GiveBackBlock,
            types::EffectKind::Other(name) => return Err(Nonsense::unknown("an effect", name)),
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

/// Converts a state to the interface's types.
pub(super) fn state(state: &PlanState) -> types::State {
    let demand = |demand: &Demand| types::Demand {
        pool: index(demand.pool),
        waiting: demand.waiting,
        attributes: to_wit::attributes(&demand.attributes),
    };
    let object = |object: &Object| types::Object {
        kind: object.kind.clone(),
        name: object.name.clone(),
        attributes: to_wit::attributes(&object.attributes),
    };
    types::State {
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

fn wit_effect(effect: &Effect) -> types::Effect {
    let kind = match effect.kind {
        EffectKind::AttachInterface => types::EffectKind::AttachInterface,
        EffectKind::DetachInterface => types::EffectKind::DetachInterface,
        EffectKind::AssignAddress => types::EffectKind::AssignAddress,
        EffectKind::ReleaseAddress => types::EffectKind::ReleaseAddress,
        EffectKind::AssignPrefix => types::EffectKind::AssignPrefix,
        EffectKind::ReleasePrefix => types::EffectKind::ReleasePrefix,
        EffectKind::RequestBlock => types::EffectKind::RequestBlock,
        EffectKind::GiveBackBlock => types::EffectKind::GiveBackBlock,
    };
    types::Effect { kind, pool: index(effect.pool), attributes: to_wit::attributes(&effect.attributes) }
}
