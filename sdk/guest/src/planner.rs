//! Policies that plan: from the situation of a pool's supply to changes of it.

use crate::bindings::planner::exports::tenure::supply::planning;
use crate::convert::{attributes, wit_attributes};
use crate::{Attributes, Refusal};

/// A policy that also plans: besides [`Policy`](crate::Policy) or [`Stateful`](crate::Stateful).
///
/// ```
/// use tenure_sdk::{Effect, EffectKind, Planner, Refusal, SupplySituation, ledger};
/// # use tenure_sdk::{Config, ConfigError, Definition, Policy, Proposal, Request};
/// # pub struct Blocks;
/// # impl Policy for Blocks {
/// #     fn define(_: &Config) -> Result<Definition, ConfigError> { Err(ConfigError::new("", "")) }
/// #     fn propose(_: &Request) -> Result<Proposal, Refusal> { Err(Refusal::Other(String::new())) }
/// # }
///
/// impl Planner for Blocks {
///     fn plan(situation: &SupplySituation) -> Result<Vec<Effect>, Refusal> {
///         let is_short = |pool: &ledger::Pool| ledger::room(&pool.shelf().usage()) < 8;
///         let short = ledger::pools().filter(|pool| is_short(pool) && !situation.is_pending(pool.index));
///         Ok(short.map(|pool| Effect::new(EffectKind::RequestBlock, pool.index)).collect())
///     }
/// }
///
/// tenure_sdk::export!(Blocks);
/// tenure_sdk::export_planner!(Blocks);
/// ```
pub trait Planner {
    /// Plans changes to the supply. Called when the situation changes, never within a request.
    ///
    /// # Errors
    /// [`Refusal`] if there is no plan; then nothing changes.
    fn plan(situation: &SupplySituation) -> Result<Vec<Effect>, Refusal>;
}

/// The input of a plan, besides the ledger and the configuration.
///
/// ```
/// use tenure_sdk::{Attributes, Effect, EffectKind, SupplySituation};
///
/// let situation = SupplySituation {
///     waiting: vec![(0, 3)],
///     pending: vec![Effect::new(EffectKind::AttachInterface, 1)],
///     attributes: Attributes::new().with("interfaces.free", "4"),
///     ..SupplySituation::default()
/// };
/// assert_eq!((situation.waiting(0), situation.waiting(1)), (3, 0));
/// assert!(situation.is_pending(1) && !situation.is_pending(0));
/// assert_eq!(situation.number("interfaces.free"), Some(4));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SupplySituation {
    /// The number of requests that wait for an address of a pool, by the pool's index.
    pub waiting: Vec<(u32, u32)>,
    /// Objects outside the ledger, such as network interfaces.
    pub objects: Vec<Object>,
    /// Effects of earlier plans that are not finished.
    pub pending: Vec<Effect>,
    /// Facts about the whole node, such as its limits.
    pub attributes: Attributes,
}

impl SupplySituation {
    /// The number of requests that wait for an address of a pool; it stops at the largest number.
    #[must_use]
    pub fn waiting(&self, pool: u32) -> u32 {
        let of_pool = self.waiting.iter().filter(|(index, _)| *index == pool);
        of_pool.map(|(_, waiting)| *waiting).fold(0, u32::saturating_add)
    }

    /// The objects of a kind.
    pub fn objects(&self, kind: &str) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(move |object| object.kind == kind)
    }

    /// Whether an effect on a pool is not finished.
    #[must_use]
    pub fn is_pending(&self, pool: u32) -> bool {
        self.pending.iter().any(|effect| effect.pool == pool)
    }

    /// A numeric attribute of the node.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u32> {
        self.attributes.get(name)?.parse().ok()
    }
}

/// Something outside the ledger, such as a network interface.
///
/// ```
/// use tenure_sdk::{Attributes, Object, SupplySituation};
///
/// let attributes = Attributes::new().with("slots.free", "6");
/// let interface = Object { kind: "interface".into(), name: "eni-1".into(), attributes };
/// let situation = SupplySituation { objects: vec![interface], ..SupplySituation::default() };
/// let free: u32 = situation.objects("interface").filter_map(|interface| interface.number("slots.free")).sum();
/// assert_eq!(free, 6);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The object's kind, such as `interface`.
    pub kind: String,
    /// The object's name, unique within its kind.
    pub name: String,
    /// Facts about it.
    pub attributes: Attributes,
}

impl Object {
    /// A numeric attribute of it.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u32> {
        self.attributes.get(name)?.parse().ok()
    }
}

/// The kind of an effect; the interface's description, `wit/README.md` in this package, lists the attributes of each.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Leases one more block.
    RequestBlock,
    /// Drains a leased block and returns it.
    GiveBackBlock,
    /// Any other kind, by name.
    Other(String),
}

/// A change of a pool's supply.
///
/// ```
/// use tenure_sdk::{Effect, EffectKind};
///
/// let effect = Effect::new(EffectKind::AssignPrefix, 0).with("interface", "eni-1").with("count", "2");
/// assert_eq!(effect.attributes.get("interface"), Some("eni-1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The effect's kind.
    pub kind: EffectKind,
    /// The pool whose supply it changes.
    pub pool: u32,
    /// The target of the effect, and how much.
    pub attributes: Attributes,
}

impl Effect {
    /// An effect without attributes.
    #[must_use]
    pub const fn new(kind: EffectKind, pool: u32) -> Self {
        Self { kind, pool, attributes: Attributes::new() }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.attributes.set(name, value);
        self
    }
}

impl From<planning::Situation> for SupplySituation {
    fn from(situation: planning::Situation) -> Self {
        let object = |object: planning::Object| Object {
            kind: object.kind,
            name: object.name,
            attributes: attributes(object.attributes),
        };
        Self {
            waiting: situation.demands.iter().map(|demand| (demand.pool, demand.waiting)).collect(),
            objects: situation.objects.into_iter().map(object).collect(),
            pending: situation.pending.into_iter().map(Effect::from).collect(),
            attributes: attributes(situation.attributes),
        }
    }
}

impl From<planning::Effect> for Effect {
    fn from(effect: planning::Effect) -> Self {
        let kind = match effect.kind {
            planning::EffectKind::AttachInterface => EffectKind::AttachInterface,
            planning::EffectKind::DetachInterface => EffectKind::DetachInterface,
            planning::EffectKind::AssignAddress => EffectKind::AssignAddress,
            planning::EffectKind::ReleaseAddress => EffectKind::ReleaseAddress,
            planning::EffectKind::AssignPrefix => EffectKind::AssignPrefix,
            planning::EffectKind::ReleasePrefix => EffectKind::ReleasePrefix,
            planning::EffectKind::RequestBlock => EffectKind::RequestBlock,
            planning::EffectKind::GiveBackBlock => EffectKind::GiveBackBlock,
            planning::EffectKind::Other(name) => EffectKind::Other(name),
        };
        Self { kind, pool: effect.pool, attributes: attributes(effect.attributes) }
    }
}

impl From<Effect> for planning::Effect {
    fn from(effect: Effect) -> Self {
        let kind = match effect.kind {
            EffectKind::AttachInterface => planning::EffectKind::AttachInterface,
            EffectKind::DetachInterface => planning::EffectKind::DetachInterface,
            EffectKind::AssignAddress => planning::EffectKind::AssignAddress,
            EffectKind::ReleaseAddress => planning::EffectKind::ReleaseAddress,
            EffectKind::AssignPrefix => planning::EffectKind::AssignPrefix,
            EffectKind::ReleasePrefix => planning::EffectKind::ReleasePrefix,
            EffectKind::RequestBlock => planning::EffectKind::RequestBlock,
            EffectKind::GiveBackBlock => planning::EffectKind::GiveBackBlock,
            EffectKind::Other(name) => planning::EffectKind::Other(name),
        };
        Self { kind, pool: effect.pool, attributes: wit_attributes(effect.attributes) }
    }
}
