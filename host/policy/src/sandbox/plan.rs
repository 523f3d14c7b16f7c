//! Plans: from the state of a network's supply to what a policy wants done about it, read as a stranger's data.
//!
//! Nobody carries a plan out yet. Who does checks each effect against what the policy was granted, and a budget.

use tenure_ledger::Book;
use tenure_types::Attributes;

use super::answer::{Nonsense, attributes};
use super::bindings::tenure::ipam::types;
use super::to_wit;

/// The most effects of one plan.
const MOST_EFFECTS: usize = 256;

/// What an effect does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectKind {
    /// Attaches one more network interface.
    AttachInterface,
    /// Detaches a network interface and deletes it.
    DetachInterface,
    /// Assigns addresses to a network interface.
    AssignAddress,
    /// Drains an address of a network interface and unassigns it.
    ReleaseAddress,
    /// Assigns prefixes to a network interface.
    AssignPrefix,
    /// Drains a prefix of a network interface and unassigns it.
    ReleasePrefix,
    /// Leases one more block of a cluster's pool.
    RequestBlock,
    /// Drains a leased block and gives it back.
    GiveBackBlock,
}

/// Something that a policy wants done to a pool's supply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// What it does.
    pub kind: EffectKind,
    /// The pool's index in its network.
    pub pool: usize,
    /// To what, and how much.
    pub attributes: Attributes,
}

/// How much of a pool is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Demand {
    /// The pool's index in its network.
    pub pool: usize,
    /// Requests that wait for an address, or were told to try again a moment ago.
    pub waiting: u32,
    /// What else is known of it.
    pub attributes: Attributes,
}

/// Something outside of the ledger that a plan depends on, such as a network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: String,
    /// Tells it apart among its kind.
    pub name: String,
    /// What is known of it.
    pub attributes: Attributes,
}

/// What a plan is made from, besides the ledger and the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanState {
    /// What is asked for.
    pub demands: Vec<Demand>,
    /// What there is outside of the ledger.
    pub objects: Vec<Object>,
    /// Effects of earlier plans that have not ended yet.
    pub pending: Vec<Effect>,
    /// What holds for the whole node, such as its limits.
    pub attributes: Attributes,
}

/// A plan as its executor takes it.
pub(super) fn plan(answer: &[types::Effect], book: &Book) -> Result<Vec<Effect>, Nonsense> {
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
        let pool = usize::try_from(effect.pool).ok().filter(|pool| *pool < pools);
        Ok(Effect {
            kind,
            pool: pool.ok_or(Nonsense::NoSuchPool(effect.pool, pools))?,
            attributes: attributes("an effect", &effect.attributes)?,
        })
    };
    answer.iter().map(effect).collect()
}

/// A state as a policy gets it.
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
        pending: state.pending.iter().map(types::Effect::from).collect(),
        attributes: to_wit::attributes(&state.attributes),
    }
}

/// A network has fewer pools than there are indexes.
fn index(pool: usize) -> u32 {
    u32::try_from(pool).unwrap_or(u32::MAX)
}

impl From<&Effect> for types::Effect {
    fn from(effect: &Effect) -> Self {
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
        Self { kind, pool: index(effect.pool), attributes: to_wit::attributes(&effect.attributes) }
    }
}
