//! `AddressPool`, as far as leases need it: which nodes get blocks, how many, and how long a dead node's stay in quarantine.

use std::sync::Arc;

use crate::Uid;

/// A pool's identity. A pool that is deleted and made again under its name is another pool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolKey {
    /// The name, at most 60 characters.
    pub name: Arc<str>,
    /// The object's uid.
    pub uid: Uid,
}

/// The most blocks that the API server lets a node want of one pool and family.
pub const MAX_WANT: u32 = 256;

/// A pool's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasePool {
    /// The pool.
    pub key: PoolKey,
    /// Grants nothing. Does not drain.
    pub disabled: bool,
    /// The pool has a deletionTimestamp: its blocks may be taken even from a node that has no other.
    pub deleting: bool,
    /// The most blocks of one node in one family.
    pub max_blocks_per_node: Option<u32>,
    /// The most blocks of the pool in one family.
    pub max_blocks: Option<u32>,
    /// Seconds for which the blocks of a deleted Node stay in quarantine; `None` (written `-1`) until somebody confirms its death.
    pub node_gone_quarantine_seconds: Option<u64>,
    /// Seconds for which a freed address cools down.
    pub cooldown_seconds: u64,
    /// Whether blocks beyond what nodes need are taken back when the pool is short.
    pub release_excess: bool,
}

impl LeasePool {
    /// A pool with the defaults: an hour of quarantine, no quotas, excess is released.
    #[must_use]
    pub fn new(key: PoolKey) -> Self {
        Self {
            key,
            disabled: false,
            deleting: false,
            max_blocks_per_node: None,
            max_blocks: None,
            node_gone_quarantine_seconds: Some(3600),
            cooldown_seconds: 60,
            release_excess: true,
        }
    }

    /// The most blocks of one family for which a node's lost leases are made again, or its word contests the leases of others: as many as it may get.
    #[must_use]
    pub fn believed_blocks(&self) -> u32 {
        self.max_blocks_per_node.unwrap_or(MAX_WANT)
    }
}
