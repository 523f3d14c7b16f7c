//! Converts what a plan is made from, and the effects of it, between the host's types and the SDK's.

use tenure_sdk as sdk;
use tenure_types::{Attributes, Effect, EffectKind, Error, ErrorCode, PlanState};

/// The situation as a policy sees it.
pub(crate) fn of(state: &PlanState) -> sdk::SupplySituation {
    let object = |object: &tenure_types::Object| sdk::Object {
        kind: object.kind.clone(),
        name: object.name.clone(),
        attributes: attributes(&object.attributes),
    };
    let pending = |effect: &Effect| sdk::Effect {
        kind: kind(effect.kind),
        pool: index(effect.pool),
        attributes: attributes(&effect.attributes),
    };
    sdk::SupplySituation {
        waiting: state.demands.iter().map(|demand| (index(demand.pool), demand.waiting)).collect(),
        objects: state.objects.iter().map(object).collect(),
        pending: state.pending.iter().map(pending).collect(),
        attributes: attributes(&state.attributes),
    }
}

/// An effect as the host has it.
///
/// # Errors
/// If the host does not know its kind, or would not accept its attributes.
pub(crate) fn effect(effect: &sdk::Effect) -> Result<Effect, Error> {
    let failed = |cause: &dyn std::fmt::Display| Error::new(ErrorCode::PolicyFailed, cause);
    let known = EffectKind::ALL.into_iter().find(|known| kind(*known) == effect.kind);
    let kind = known.ok_or_else(|| failed(&format_args!("it returned the effect {:?}", effect.kind)))?;
    let attributes = Attributes::new(effect.attributes.iter()).map_err(|error| failed(&error))?;
    Ok(Effect { kind, pool: usize::try_from(effect.pool).unwrap_or(usize::MAX), attributes })
}

fn kind(kind: EffectKind) -> sdk::EffectKind {
    match kind {
        EffectKind::AttachInterface => sdk::EffectKind::AttachInterface,
        EffectKind::DetachInterface => sdk::EffectKind::DetachInterface,
        EffectKind::AssignAddress => sdk::EffectKind::AssignAddress,
        EffectKind::ReleaseAddress => sdk::EffectKind::ReleaseAddress,
        EffectKind::AssignPrefix => sdk::EffectKind::AssignPrefix,
        EffectKind::ReleasePrefix => sdk::EffectKind::ReleasePrefix,
        EffectKind::RequestBlock => sdk::EffectKind::RequestBlock,
        EffectKind::GiveBackBlock => sdk::EffectKind::GiveBackBlock,
    }
}

fn index(pool: usize) -> u32 {
    u32::try_from(pool).unwrap_or(u32::MAX)
}

fn attributes(attributes: &Attributes) -> sdk::Attributes {
    attributes.iter().collect()
}
