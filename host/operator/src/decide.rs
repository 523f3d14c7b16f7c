//! Decisions: from a snapshot and a leader's memory to writes. Nothing here calls the API server, and the tables of `tenure-leases` have every say
//! about a block.

mod attested;
mod claims;
mod conditions;
mod counts;
mod grants;
mod held;
mod nodes;
mod pools;
mod releases;
#[cfg(test)]
mod sample;
mod spaces;
mod taints;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use tenure_leases::{MarkAnswer, MarkId, Uid};

use self::claims::ClaimFacts;
pub(crate) use self::held::believed;
use crate::memory::OperatorMemory;
use crate::reports::{BlockCount, Notice};
use crate::view::{ClusterView, SaidView};
use crate::writes::{OperatorWrite, WriteTime};

/// The reason for which a node waits when its pool has no free block.
const EXHAUSTED: &str = "PoolExhausted";

/// The reason for which a node waits that has the addresses already, of another overlap group.
const ADDRESSES_HELD: &str = "AddressesHeld";

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

/// The nodes' words, those after a node first: a pass that cannot serve all of them goes on there the next time.
fn in_turn<'a>(
    said: &'a BTreeMap<Arc<str>, Arc<SaidView>>,
    last: &Arc<str>,
) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<SaidView>)> + use<'a> {
    let next = said.range((Bound::Excluded(Arc::clone(last)), Bound::Unbounded));
    next.chain(said.range(..=Arc::clone(last)))
}

/// Everything that a pass decided on one snapshot.
#[derive(Debug)]
pub struct Decisions {
    /// The writes, in their order.
    pub writes: Vec<OperatorWrite>,
    /// The events to write.
    pub notices: Vec<Notice>,
    /// The answers to the marks that are there.
    pub answers: Vec<(MarkId, MarkAnswer)>,
    /// The blocks by pool, family and phase.
    pub counts: Vec<BlockCount>,
}

/// Decides about everything but the blocks of nodes that look dead.
#[must_use]
pub fn decide(
    view: &ClusterView,
    memory: &mut OperatorMemory,
    startup_taint: &str,
    now: WriteTime,
) -> Decisions {
    let held = held::claims(view, memory);
    let mut writes = pools::finalizers(view, memory.definitions_unsure);
    // Before every node could speak, nobody knows which ranges are empty.
    let may_remove = memory.barrier.may_grant() && !view.words_missing;
    let spaces = spaces::spaces(view, &held, may_remove);
    let mut granted = grants::grants(view, &held, memory, now.elapsed);
    memory.wanting(granted.wanting, now.elapsed);
    let released = releases::releases(view, memory, now);
    writes.extend(spaces.writes);
    writes.extend(granted.writes);
    writes.extend(released.writes);
    let facts = ClaimFacts::gather(view, memory);
    facts.note_waiting(view, &mut granted.waiting);
    let later = [&granted.served, &granted.postponed];
    let told = nodes::Told { waiting: &granted.waiting, later, facts: &facts };
    // No node waits for its block while claims get their addresses.
    writes.extend(nodes::hints(view, &told, memory, now));
    writes.extend(taints::taints(view, startup_taint));
    writes.extend(claims::claims(view, (&facts, &held), memory, now));
    writes.extend(pools::statuses(view, &granted.waiting, &spaces.refused, now));
    let mut notices = granted.notices;
    notices.extend(released.notices);
    notices.extend(pools::notices(view, &granted.waiting, &spaces.refused));
    Decisions { writes, notices, answers: released.answers, counts: counts::counts(view) }
}
