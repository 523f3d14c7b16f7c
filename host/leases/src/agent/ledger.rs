//! A block in the agent's ledger.

use ipnet::IpNet;

use crate::{MarkAck, MarkAnswer, MarkId, Uid};

/// How far a block may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeaseHold {
    /// New addresses come from it.
    Open,
    /// No new address comes from it, because of this mark; those in use stay.
    Cordoned(MarkId),
    /// Empty, and kept so because of this mark.
    Frozen(MarkId),
    /// The ledger was lost, and what is in the block is not known: no new address until the node's pods are known.
    Doubted,
    /// The API server names another holder: no new address, and those in use stay.
    Contested,
}

/// The uses that keep a block from being empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockUsage {
    /// Addresses in use.
    pub in_use: u32,
    /// Addresses in quarantine; for a release they count like those in use.
    pub quarantined: u32,
    /// Addresses cooling down.
    pub cooling: u32,
    /// Addresses promised to claims.
    pub promised: u32,
    /// Requests that may still end with an address of the block.
    pub under_way: u32,
}

/// A block of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerBlock {
    /// The addresses.
    pub cidr: IpNet,
    /// The uid under which it was accepted.
    pub uid: Uid,
    /// How far it may be used.
    pub hold: LeaseHold,
    /// The uses of its addresses.
    pub usage: BlockUsage,
}

impl LeaseHold {
    /// Whether the block counts among those that the node has and wants.
    ///
    /// A cordoned or frozen block leaves. A contested one is leased to another node, so the operator counts it for that one: if it counted here, the node
    /// would always want one block more than it has leases, and be granted one after the other.
    #[must_use]
    pub const fn stays(self) -> bool {
        matches!(self, Self::Open | Self::Doubted)
    }
}

impl BlockUsage {
    /// The sum of two uses.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            in_use: self.in_use.saturating_add(other.in_use),
            quarantined: self.quarantined.saturating_add(other.quarantined),
            cooling: self.cooling.saturating_add(other.cooling),
            promised: self.promised.saturating_add(other.promised),
            under_way: self.under_way.saturating_add(other.under_way),
        }
    }

    /// Whether nothing is in the block.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl LedgerBlock {
    /// The standing answer to a mark, as the durable record says it; it is written again whenever `acks` lacks it.
    #[must_use]
    pub fn standing_ack(&self) -> Option<MarkAck> {
        let (mark, answer) = match self.hold {
            LeaseHold::Cordoned(mark) => (mark, MarkAnswer::Cordoned),
            LeaseHold::Frozen(mark) => (mark, MarkAnswer::Ready),
            LeaseHold::Open | LeaseHold::Doubted | LeaseHold::Contested => return None,
        };
        Some(MarkAck { uid: self.uid, mark, answer })
    }

    /// Whether a cordoned block became empty and is to be frozen now, for the same mark.
    #[must_use]
    pub fn drained(&self) -> Option<MarkId> {
        match self.hold {
            LeaseHold::Cordoned(mark) if self.usage.is_empty() => Some(mark),
            _ => None,
        }
    }
}
