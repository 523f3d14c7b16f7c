//! One intent.

use tenure_types::{Attributes, EffectKind, IntentId, Moment, NetworkName, PolicyStamp, PoolName, RangeName};

/// An effect that the host has begun, or is about to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Identifier of the intent. Requests to the outside carry it so that none does anything twice.
    pub id: IntentId,
    /// The network whose supply it changes.
    pub network: NetworkName,
    /// The pool whose supply it changes.
    pub pool: PoolName,
    /// Kind of the effect.
    pub kind: EffectKind,
    /// Target and amount.
    pub attributes: Attributes,
    /// The ranges that it takes, which hand out nothing while it is open.
    pub takes: Vec<Taken>,
    /// Why it began.
    pub origin: IntentOrigin,
    /// Beginning of the intent.
    pub since: Moment,
    /// Progress so far, such as the id of the interface that was created.
    pub reached: Attributes,
}

/// Why an intent began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentOrigin {
    /// A policy planned it.
    Policy(PolicyStamp),
    /// The host began it without a policy's plan, such as when a cluster asks for a block back.
    Host,
}

/// A range that an intent takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Pool of the range.
    pub pool: PoolName,
    /// The range.
    pub range: RangeName,
    /// Whether it handed out addresses until then, and does so again if the intent is undone.
    pub was_open: bool,
}
