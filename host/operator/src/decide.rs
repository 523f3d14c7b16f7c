//! Decisions: from a snapshot and a leader's memory to writes. Nothing here calls the API server, and the tables of `tenure-leases` have every say
//! about a block.

mod conditions;
mod grants;
mod held;
mod nodes;
mod pools;
mod releases;
mod spaces;

use std::collections::BTreeMap;

use tenure_leases::Uid;

use crate::memory::OperatorMemory;
use crate::view::ClusterView;
use crate::writes::{OperatorWrite, WriteTime};

/// A pool's uid, and whether its family is IPv6.
type FamilyKey = (Uid, bool);

/// Why a node waits for a block, as a condition's reason and message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WaitReason {
    reason: &'static str,
    message: String,
}

/// The nodes that want more blocks than they have, by pool and family.
type WaitingNodes = BTreeMap<FamilyKey, BTreeMap<String, WaitReason>>;

/// Decides about everything but the blocks of nodes that look dead.
#[must_use]
pub fn decide(view: &ClusterView, memory: &mut OperatorMemory, now: WriteTime) -> Vec<OperatorWrite> {
    let mut writes = pools::finalizers(view);
    let spaces = spaces::spaces(view);
    let granted = grants::grants(view, memory);
    writes.extend(spaces.writes);
    writes.extend(granted.writes);
    writes.extend(releases::releases(view, memory, now));
    writes.extend(nodes::hints(view, &granted.waiting, now));
    writes.extend(pools::statuses(view, &granted.waiting, &spaces.overlapping, now));
    writes
}
