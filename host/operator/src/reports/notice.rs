//! The events: their names, and what each is about.

use std::borrow::Cow;
use std::sync::Arc;

use kube::{Resource, ResourceExt as _};

/// The name of an event, as `kubectl get events` shows it under Reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventReason {
    /// A block was leased to a node.
    BlockLeased,
    /// A lease ended.
    BlockReleased,
    /// A node refused to give a block back.
    BlockRefused,
    /// A block's holder looks dead.
    BlockQuarantined,
    /// A lost lease was made again for its holder.
    BlockReclaimed,
    /// Two nodes hold one block.
    LeaseConflict,
    /// A pool has no free block, and a node wants one.
    PoolExhausted,
    /// Another pool, or what is left of one, has some of a pool's addresses.
    PoolOverlap,
    /// A node is attested to be off.
    NodeFenced,
    /// A node says that it holds a block, and is not believed.
    HeldIgnored,
    /// A node says that it holds a block of which there is no lease, and has its quota without it.
    HeldAboveQuota,
    /// A node says that it holds a block of no pool, which overlaps blocks of one.
    HeldForeign,
    /// A node has all blocks that its quota or the pool's admits.
    QuotaReached,
}

impl EventReason {
    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BlockLeased => "BlockLeased",
            Self::BlockReleased => "BlockReleased",
            Self::BlockRefused => "BlockRefused",
            Self::BlockQuarantined => "BlockQuarantined",
            Self::BlockReclaimed => "BlockReclaimed",
            Self::LeaseConflict => "LeaseConflict",
            Self::PoolExhausted => "PoolExhausted",
            Self::PoolOverlap => "PoolOverlap",
            Self::NodeFenced => "NodeFenced",
            Self::HeldIgnored => "HeldIgnored",
            Self::HeldAboveQuota => "HeldAboveQuota",
            Self::HeldForeign => "HeldForeign",
            Self::QuotaReached => "QuotaReached",
        }
    }

    /// The operator's action, which the API server requires.
    pub(super) const fn action(self) -> &'static str {
        match self {
            Self::BlockLeased => "Lease",
            Self::BlockReleased => "Release",
            Self::BlockRefused => "AskBack",
            Self::BlockQuarantined | Self::NodeFenced => "Quarantine",
            Self::BlockReclaimed => "Reclaim",
            Self::LeaseConflict | Self::HeldIgnored | Self::HeldAboveQuota | Self::HeldForeign => "Compare",
            Self::PoolExhausted | Self::PoolOverlap | Self::QuotaReached => "Allocate",
        }
    }

    /// `Normal` for the ordinary life of a block, `Warning` for what a person may have to look at.
    pub(super) const fn severity(self) -> &'static str {
        match self {
            Self::BlockLeased | Self::BlockReleased | Self::BlockRefused => "Normal",
            _ => "Warning",
        }
    }
}

/// An object that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventSubject {
    pub(super) api_version: Cow<'static, str>,
    pub(super) kind: &'static str,
    pub(super) name: Arc<str>,
    pub(super) uid: String,
}

impl EventSubject {
    /// An object that is at hand.
    #[must_use]
    pub fn of<K: Resource<DynamicType = ()>>(object: &K, kind: &'static str) -> Self {
        Self::named::<K>(kind, &object.name_any(), object.uid().unwrap_or_default())
    }

    /// An object whose name and uid are known.
    #[must_use]
    pub fn named<K: Resource<DynamicType = ()>>(kind: &'static str, name: &str, uid: String) -> Self {
        Self { api_version: K::api_version(&()), kind, name: name.into(), uid }
    }
}

/// Something to tell.
#[derive(Debug, Clone)]
pub struct Notice {
    /// The event's name.
    pub reason: EventReason,
    /// The object under which `kubectl describe` shows it.
    pub regarding: EventSubject,
    /// Another object that it is about.
    pub related: Option<EventSubject>,
    /// The sentence.
    pub note: String,
}

impl Notice {
    /// A notice about one object.
    #[must_use]
    pub fn new(reason: EventReason, regarding: EventSubject, note: String) -> Self {
        Self { reason, regarding, related: None, note }
    }

    /// A notice that is also about another object.
    #[must_use]
    pub fn with(self, related: EventSubject) -> Self {
        Self { related: Some(related), ..self }
    }
}
