//! Answering the operator's marks, by the table of `tenure_leases::agent::mark`.
//!
//! A block is frozen by beginning its intent: the engine checks, drains and records in one critical section of the book, and the answer is
//! written only after that.

use std::collections::BTreeMap;

use tenure_effects::Handle;
use tenure_engine::Refusal;
use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::agent::mark::{MarkCase, MarkVerdict, answer};
use tenure_leases::block::RefusalReason;
use tenure_leases::{BlockHint, BlockMark, BlockName, HolderIdentity, LeaseRules, MarkAck, MarkAnswer};
use tenure_types::{Effect, EffectKind, NetworkName};

use crate::agent::accepting::AgentError;
use crate::agent::checks::mark_case;
use crate::agent::core::AgentCore;
use crate::agent::records::HeldLease;
use crate::agent::wing::ClusterWing;

/// The executors, by network.
pub(crate) type Executors = BTreeMap<NetworkName, Handle<ClusterWing>>;

/// Answers a mark.
pub(crate) async fn mark(
    core: &AgentCore,
    executors: &Executors,
    me: &HolderIdentity,
    (name, hint): (&BlockName, BlockHint),
    mark: BlockMark,
) -> Result<(), AgentError> {
    // A block of another overlap group with these addresses is another block.
    let lease = core.leases().remove(&hint.cidr).filter(|lease| lease.name == *name);
    let book = match &lease {
        Some(lease) => core.book_of(&lease.pool.name).await,
        None => None,
    };
    let case = match (&lease, &book) {
        (Some(lease), Some(book)) => MarkCase { uid: hint.uid, ..mark_case(core, lease, mark, book) },
        _ => without_network(core, lease.as_ref(), hint, mark),
    };
    drop(book);
    let said = match (answer(LeaseRules::ALL, &case), lease) {
        (MarkVerdict::Freeze, Some(lease)) => freeze(core, executors, &lease, mark).await?,
        (MarkVerdict::Cordon, Some(lease)) => {
            if lease.hold != LeaseHold::Cordoned(mark.id) {
                tracing::info!(block = %hint.cidr, why = mark.why.as_str(), "the operator wants a block back; no new address comes from it");
            }
            core.set_hold(&lease, LeaseHold::Cordoned(mark.id)).await?;
            return Ok(());
        }
        (MarkVerdict::Look, Some(lease)) => return core.compare(me, &lease).await,
        (MarkVerdict::Answer(said), _) => said,
        (MarkVerdict::Bury | MarkVerdict::Freeze | MarkVerdict::Cordon | MarkVerdict::Look, _) => {
            core.bury(hint.uid).await?;
            MarkAnswer::Ready
        }
    };
    // What the ledger says stands by itself.
    if !matches!(case.row.map(|row| row.hold), Some(LeaseHold::Frozen(frozen)) if frozen == mark.id) {
        core.state().answers.insert(hint.uid, MarkAck { uid: hint.uid, mark: mark.id, answer: said });
    }
    Ok(())
}

/// Freezes a cordoned block that has become empty, for the same mark.
pub(crate) async fn freeze_drained(core: &AgentCore, executors: &Executors) -> Result<(), AgentError> {
    for lease in core.leases().into_values() {
        let book = core.book_of(&lease.pool.name).await;
        let Some(id) = core.row(&lease, book.as_deref()).drained() else { continue };
        drop(book);
        let told =
            core.state().told.blocks.iter().find(|hint| hint.uid == lease.uid).and_then(|hint| hint.mark);
        if let Some(mark) = told.filter(|mark| mark.id == id) {
            freeze(core, executors, &lease, mark).await?;
        }
    }
    Ok(())
}

/// Freezes a block; returns the answer.
async fn freeze(
    core: &AgentCore,
    executors: &Executors,
    lease: &HeldLease,
    mark: BlockMark,
) -> Result<MarkAnswer, AgentError> {
    if core.giving_back(lease.cidr()).is_some() {
        return Ok(MarkAnswer::Ready);
    }
    let Some(network) = core.settings.network_of(&lease.pool.name) else {
        return freeze_unused(core, lease, mark).await;
    };
    // Once it is defined, it may have addresses that the ledger was lost with.
    let Some(book) = core.book(network).await else { return Ok(MarkAnswer::Refused(RefusalReason::Unknown)) };
    let pool = lease.engine_pool();
    let index = book.pools().iter().position(|known| Some(&known.name) == pool.as_ref());
    drop(book);
    let Some((executor, index)) = executors.get(network).zip(index) else {
        return freeze_unused(core, lease, mark).await;
    };
    let attributes = AgentCore::give_back(lease, mark.id)?;
    let begun =
        executor.begin(vec![Effect { kind: EffectKind::GiveBackBlock, pool: index, attributes }]).await?;
    Ok(match begun.refused.first() {
        None => {
            tracing::info!(block = %lease.cidr(), why = mark.why.as_str(), "a block is empty, and goes back to the cluster");
            MarkAnswer::Ready
        }
        Some((_, why)) => MarkAnswer::Refused(reason(why)),
    })
}

/// Freezes a block whose addresses no network hands out.
async fn freeze_unused(
    core: &AgentCore,
    lease: &HeldLease,
    mark: BlockMark,
) -> Result<MarkAnswer, AgentError> {
    core.set_hold(lease, LeaseHold::Frozen(mark.id)).await?;
    Ok(MarkAnswer::Ready)
}

fn reason(why: &Refusal) -> RefusalReason {
    match why {
        Refusal::InUse { .. } => RefusalReason::InUse,
        Refusal::Claimed { .. } => RefusalReason::Claimed,
        Refusal::Cooling { .. } => RefusalReason::Cooling,
        Refusal::UnderWay { .. } => RefusalReason::UnderWay,
        Refusal::Outside(_) => RefusalReason::Reserve,
        _ => RefusalReason::Unknown,
    }
}

/// The case of a lease that no network has, or that the ledger does not have.
fn without_network(
    core: &AgentCore,
    lease: Option<&HeldLease>,
    hint: BlockHint,
    mark: BlockMark,
) -> MarkCase {
    MarkCase {
        uid: hint.uid,
        mark,
        row: lease.map(|lease| core.row(lease, None)),
        dropped: core.dropped().contains_key(&hint.uid),
        accepting: false,
        lost: core.state().is_lost,
        // No network needs it.
        other_open: 1,
        keeps_reserve: true,
    }
}
