//! The blocks of nodes that look dead. The watch only says where to look: each write follows a quorum GET of the Node, made just before it.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::Api;
use tenure_cluster::client::call;
use tenure_leases::operator::fence::{FenceReason, FenceVerdict, FetchedNode, delay, fence};
use tenure_leases::operator::quarantine::{QuarantineDelay, QuarantineStep, quarantine};
use tenure_leases::{BlockPhase, HolderIdentity, LeaseRules, NodeIpamSpec, TurnState, Uid};

use crate::decide::believed;
use crate::memory::OperatorMemory;
use crate::reports::WriteCause;
use crate::view::{BlockView, ClusterView, SaidView, WatchedNode, evidence};
use crate::writes::{BlockChange, ObjectTarget, OperatorWrite, WriteContext, WriteTime};

/// Seconds for which the words of a node without a Node and without blocks are kept, if it said that it holds some.
const EVIDENCE_SECONDS: u64 = 3600;

/// The blocks to look at: those in quarantine, and those whose Node is missing, is another one, or is attested to be off.
#[must_use]
pub fn suspects(view: &ClusterView) -> Vec<&BlockView> {
    let looks_alive = |block: &&BlockView| {
        let node = view.hosts.get(&*block.block.holder.name).map(|host| host.evidence);
        let lives = match node {
            None => false,
            // Its machine cannot be told from others: nothing follows from it.
            Some(None) => true,
            Some(Some(node)) => {
                let known = block.block.names_node(node.uid) && node.machine == block.block.holder.machine;
                known && !node.out_of_service && node.fenced != Some(node.uid)
            }
        };
        lives && block.block.phase != BlockPhase::Quarantined
    };
    // Nobody has the address of a claim whose block names no turn.
    let has_holder = |block: &&BlockView| block.claimed.as_ref().is_none_or(|claimed| claimed.turn.is_some());
    view.all_blocks().filter(has_holder).filter(|block| !looks_alive(block)).collect()
}

/// Decides about a block by the watch, and about each write by a quorum GET of the Node once more: a block that waits costs no call.
pub async fn judge(
    context: &mut WriteContext<'_>,
    view: &ClusterView,
    block: &BlockView,
) -> Option<OperatorWrite> {
    let (name, now) = (&block.block.holder.name, context.now);
    step(view, context.memory, block, view.seen_node(name), now)?;
    let node = fetch(context, name).await;
    let change = step(view, context.memory, block, node, now)?;
    if let (BlockChange::EndTurn, Some(turn)) = (change, block.claimed.as_ref().and_then(|of| of.turn)) {
        context.memory.ends_turn(turn);
    }
    Some(OperatorWrite::block(block, change))
}

/// The step for a block whose Node is this one.
fn step(
    view: &ClusterView,
    memory: &mut OperatorMemory,
    block: &BlockView,
    node: FetchedNode,
    now: WriteTime,
) -> Option<BlockChange> {
    let said = view.said.get(&*block.block.holder.name).map(|said| &said.spec);
    let verdict = fence(LeaseRules::ALL, &block.block, node, said);
    match attested(view, block, verdict) {
        FenceVerdict::Keep => None,
        FenceVerdict::Adopt(uid) => Some(BlockChange::Adopt(uid)),
        FenceVerdict::Quarantine(reason) => Some(BlockChange::Quarantine(reason)),
        FenceVerdict::Return => Some(BlockChange::Return),
        FenceVerdict::Hold(reason) => hold(view, memory, block, reason, now),
    }
}

/// Takes the annotation of a NodeIPAM for that of a Node which is not there to be annotated: it names the uid of the Node that held the block.
fn attested(view: &ClusterView, block: &BlockView, verdict: FenceVerdict) -> FenceVerdict {
    let named = named_by_people(view, &block.block.holder.name);
    let is_named = named.is_some_and(|uid| block.block.names_node(uid));
    match verdict {
        FenceVerdict::Hold(FenceReason::NodeGone | FenceReason::Replaced) if is_named => {
            FenceVerdict::Hold(FenceReason::Annotation)
        }
        other => other,
    }
}

/// The uid of a Node that the annotation of the NodeIPAM says is off.
fn named_by_people(view: &ClusterView, node: &str) -> Option<Uid> {
    view.said.get(node)?.fenced
}

/// The wait of a claim's or a node's block for a reason.
fn wait(view: &ClusterView, block: &BlockView, reason: FenceReason) -> QuarantineDelay {
    match view.pool(block.block.pool.uid) {
        Some(pool) => delay(&pool.lease, reason),
        // The pool that said how long to wait is gone: only an attestation ends it.
        None if reason == FenceReason::Annotation => QuarantineDelay::Seconds(0),
        None => QuarantineDelay::UntilConfirmed,
    }
}

/// Counts a quarantine, and ends it when it is over.
fn hold(
    view: &ClusterView,
    memory: &mut OperatorMemory,
    block: &BlockView,
    reason: FenceReason,
    now: WriteTime,
) -> Option<BlockChange> {
    let written = block.block.elapsed_seconds;
    let counted = memory.quarantine_seconds(block.block.uid, written, now.elapsed);
    match quarantine(wait(view, block, reason), written, counted) {
        QuarantineStep::Wait => None,
        QuarantineStep::Write(seconds) => Some(BlockChange::Elapse(seconds)),
        QuarantineStep::Over if block.claimed.is_some() => Some(BlockChange::EndTurn),
        QuarantineStep::Over if block.block.deleting => Some(BlockChange::RemoveFinalizer),
        QuarantineStep::Over => Some(BlockChange::Delete),
    }
}

/// The claims' blocks whose alternate turn is one of a node that looks dead.
#[must_use]
pub fn suspect_alternates(view: &ClusterView) -> Vec<&BlockView> {
    let is_suspect = |block: &&BlockView| {
        let alternate = block.claimed.as_ref().and_then(|claimed| claimed.alternate.as_ref());
        alternate.is_some_and(|alternate| {
            let said = view.said.get(&*alternate.holder.name).map(|said| &said.spec);
            let says = |said: &NodeIpamSpec| said.identity.machine == alternate.holder.machine;
            !said.is_some_and(|said| says(said) && view.is_alive(said))
        })
    };
    view.claim_blocks.iter().map(Arc::as_ref).filter(is_suspect).collect()
}

/// Decides about an alternate turn by the watch, and about its end by a quorum GET of the Node once more. The machine does not run there as far as the
/// block says, so an attestation that the node is off ends the turn at once. Where the Node is gone, the turn ends as a quarantine of the pool would,
/// counted by each leader alone.
pub async fn judge_alternate(
    context: &mut WriteContext<'_>,
    view: &ClusterView,
    block: &BlockView,
) -> Option<OperatorWrite> {
    let alternate = block.claimed.as_ref()?.alternate.as_ref()?;
    let waited = match view.is_gone(&alternate.holder) {
        true => context.memory.alternate_seconds(block.block.uid, alternate.turn, context.now.elapsed),
        false => 0,
    };
    let is_over = |node| alternate_is_over(view, block, &alternate.holder, node, waited);
    if !is_over(view.seen_node(&alternate.holder.name)) {
        return None;
    }
    let node = fetch(context, &alternate.holder.name).await;
    is_over(node).then(|| {
        context.memory.ends_turn(alternate.turn);
        OperatorWrite::block(block, BlockChange::EndAlternate)
    })
}

/// Whether an alternate turn ends whose node's Node is this one, and has been gone for so many seconds.
fn alternate_is_over(
    view: &ClusterView,
    block: &BlockView,
    holder: &HolderIdentity,
    node: FetchedNode,
    waited: u64,
) -> bool {
    let reason = match node {
        FetchedNode::Unreachable => return false,
        FetchedNode::Found(node) if node.machine == holder.machine => {
            // Also if it was registered again: the attestation is about the machine.
            return node.out_of_service || node.fenced == Some(node.uid);
        }
        FetchedNode::Found(_) => FenceReason::Replaced,
        FetchedNode::Missing => FenceReason::NodeGone,
    };
    let is_attested = named_by_people(view, &holder.name) == Some(holder.uid);
    is_attested || wait(view, block, reason).is_over(waited)
}

/// The NodeIPAMs whose Node is gone, as far as the watch shows, and of whose name no block is left, nor a lost lease to make again.
#[must_use]
pub fn forgotten<'a>(view: &'a ClusterView, memory: &OperatorMemory) -> Vec<&'a SaidView> {
    let alternates = view.claim_blocks.iter().flat_map(|block| &block.claimed);
    let alternates = alternates.flat_map(|claimed| &claimed.alternate).map(|alternate| &alternate.holder);
    let holders = view.all_blocks().map(|view| &view.block.holder).chain(alternates);
    let holders: BTreeSet<&str> = holders.map(|holder| &*holder.name).collect();
    let gone = view.said.iter().filter(|(name, _)| !view.hosts.contains_key(*name));
    // An IPBlock that cannot be read may be one of any node.
    let gone = gone.filter(|_| view.unreadable.is_empty());
    let mut gone = gone.filter(|(name, _)| !holders.contains(&***name)).peekable();
    if gone.peek().is_none() {
        return vec![];
    }
    let believed = believed(view, memory);
    gone.filter(|(name, _)| !believed.contains(&***name)).map(|(_, said)| said.as_ref()).collect()
}

/// Decides about a NodeIPAM whose Node is gone, after a quorum GET of the Node. What it lists besides the leases that this leader ended is evidence for
/// as long as a node's blocks stay in quarantine, in case that the Node comes back; an agent that is dead never takes it back.
pub async fn forget(context: &mut WriteContext<'_>, said: &SaidView) -> Option<OperatorWrite> {
    let waited = context.memory.gone_seconds(said.uid, context.now.elapsed);
    let name = &said.spec.identity.name;
    let is_ended = said.spec.held.iter().all(|held| context.memory.has_ended(name, held.cidr));
    let mut turns = said.spec.claims.iter().filter(|turn| turn.state == TurnState::Held);
    let is_ended = is_ended && turns.all(|turn| context.memory.has_ended_turn(turn.turn));
    if !is_ended && waited < EVIDENCE_SECONDS {
        return None;
    }
    let is_gone = fetch(context, name).await == FetchedNode::Missing;
    is_gone.then(|| OperatorWrite::Forget(ObjectTarget::new(name, said.uid, said.version)))
}

/// Reads a Node from etcd.
async fn fetch(context: &WriteContext<'_>, name: &str) -> FetchedNode {
    let api: Api<WatchedNode> = Api::all(context.client.clone());
    match context.reports.metrics.counted("get", WriteCause::Fence, call(api.get_opt(name))).await {
        Ok(Some(node)) => evidence(&node).map_or(FetchedNode::Unreachable, FetchedNode::Found),
        Ok(None) => FetchedNode::Missing,
        Err(error) => {
            tracing::warn!("cannot read node {name}: {error}");
            FetchedNode::Unreachable
        }
    }
}
