//! One intent.

use tenure_types::{Attributes, EffectKind, IntentId, Moment, NetworkName, PolicyStamp, PoolName, RangeName};

/// An effect that the host has begun, or is about to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Its id, which requests to the outside carry so that none does anything twice.
    pub id: IntentId,
    /// The network whose supply it changes.
    pub network: NetworkName,
    /// The pool whose supply it changes.
    pub pool: PoolName,
    /// What it does.
    pub kind: EffectKind,
    /// Its target, and how much.
    pub attributes: Attributes,
    /// The ranges that it takes, which hand out nothing while it is open.
    pub takes: Vec<Taken>,
    /// The policy that wants it.
    pub policy: PolicyStamp,
    /// When it began.
    pub since: Moment,
    /// What the outside has answered so far, such as the id of the interface that was created.
    pub reached: Attributes,
}

/// A range that an intent takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Its pool.
    pub pool: PoolName,
    /// The range.
    pub range: RangeName,
    /// Whether it handed out addresses until then, and does so again if the intent is undone.
    pub was_open: bool,
}
