//! Plans: from the state of a network's supply to the changes that a policy wants, read as untrusted data.
//!
//! Nothing carries out plans yet. The executor will have to check each effect against the policy's grants and a
//! budget.

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
    /// Drains a leased block and returns it.
    GiveBackBlock,
}

/// A change that a policy wants in a pool's supply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// What it does.
    pub kind: EffectKind,
    /// The pool's index in its network.
    pub pool: usize,
    /// The target of the effect, and how much.
    pub attributes: Attributes,
}

/// The demand for a pool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Demand {
    /// The pool's index in its network.
    pub pool: usize,
    /// Requests that wait for an address, or were recently told to try again.
    pub waiting: u32,
    /// Further facts about it.
    pub attributes: Attributes,
}

/// Something outside the ledger that a plan depends on, such as a network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its kind.
    pub kind: String,
    /// Its name, unique within its kind.
    pub name: String,
    /// Facts about it.
    pub attributes: Attributes,
}

/// The input of a plan, besides the ledger and the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanState {
    /// The demand for each pool.
    pub demands: Vec<Demand>,
    /// The objects outside the ledger.
    pub objects: Vec<Object>,
    /// Effects of earlier plans that are not finished.
    pub pending: Vec<Effect>,
    /// Facts about the whole node, such as its limits.
    pub attributes: Attributes,
}

/// Reads a plan.
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
        pending: state.pending.iter().map(types::Effect::from).collect(),
        attributes: to_wit::attributes(&state.attributes),
    }
}

/// A network has far fewer pools than a `u32` can count.
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
