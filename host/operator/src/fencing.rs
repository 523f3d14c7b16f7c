//! The blocks of nodes that look dead. The watch only says where to look: each step follows a quorum GET of the Node, made just before the write.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};
use tenure_cluster::client::call;
use tenure_leases::operator::fence::{FenceReason, FenceVerdict, FetchedNode, delay, fence};
use tenure_leases::operator::quarantine::{QuarantineDelay, QuarantineStep, quarantine};
use tenure_leases::{BlockPhase, LeaseRules};

use crate::memory::OperatorMemory;
use crate::view::{BlockView, ClusterView, SaidView, evidence};
use crate::writes::{BlockChange, ObjectTarget, OperatorWrite, WriteTime};

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
    view.blocks.iter().filter(|block| !looks_alive(block)).collect()
}

/// Reads a block's Node by a quorum GET, and decides.
pub async fn judge(
    client: &Client,
    view: &ClusterView,
    memory: &mut OperatorMemory,
    block: &BlockView,
    now: WriteTime,
) -> Option<OperatorWrite> {
    let node = fetch(client, &block.block.holder.name).await;
    let said = view.said.get(&*block.block.holder.name).map(|said| &said.spec);
    let change = match fence(LeaseRules::ALL, &block.block, node, said) {
        FenceVerdict::Keep => return None,
        FenceVerdict::Adopt(uid) => BlockChange::Adopt(uid),
        FenceVerdict::Quarantine(reason) => BlockChange::Quarantine(reason),
        FenceVerdict::Return => BlockChange::Return,
        FenceVerdict::Hold(reason) => hold(view, memory, block, reason, now)?,
    };
    Some(OperatorWrite::block(block, change))
}

/// Counts a quarantine, and ends it when it is over.
fn hold(
    view: &ClusterView,
    memory: &mut OperatorMemory,
    block: &BlockView,
    reason: FenceReason,
    now: WriteTime,
) -> Option<BlockChange> {
    let wait = match view.pool(block.block.pool.uid) {
        Some(pool) => delay(&pool.lease, reason),
        // The pool that said how long to wait is gone: only an attestation ends it.
        None if reason == FenceReason::Annotation => QuarantineDelay::Seconds(0),
        None => QuarantineDelay::UntilConfirmed,
    };
    let counted = memory.quarantine_seconds(block.block.uid, now.elapsed);
    match quarantine(wait, block.block.elapsed_seconds, counted) {
        QuarantineStep::Wait => None,
        QuarantineStep::Write(seconds) => Some(BlockChange::Elapse(seconds)),
        QuarantineStep::Over if block.block.deleting => Some(BlockChange::RemoveFinalizer),
        QuarantineStep::Over => Some(BlockChange::Delete),
    }
}

/// The NodeIPAMs whose Node is gone, as far as the watch shows, and of whose name no block is left.
#[must_use]
pub fn forgotten(view: &ClusterView) -> Vec<&SaidView> {
    let holders: BTreeSet<&str> = view.blocks.iter().map(|view| &*view.block.holder.name).collect();
    let gone = view.said.iter().filter(|(name, _)| !view.hosts.contains_key(*name));
    gone.filter(|(name, _)| !holders.contains(name.as_str())).map(|(_, said)| said).collect()
}

/// Decides about a NodeIPAM whose Node is gone, after a quorum GET of the Node. What it holds without an IPBlock is evidence, and stays.
pub async fn forget(client: &Client, said: &SaidView) -> Option<OperatorWrite> {
    if !said.spec.held.is_empty() {
        return None;
    }
    let node = fetch(client, &said.spec.identity.name).await;
    (node == FetchedNode::Missing).then(|| OperatorWrite::Forget(ObjectTarget::from(&said.object.metadata)))
}

/// Reads a Node from etcd.
async fn fetch(client: &Client, name: &str) -> FetchedNode {
    let api: Api<Node> = Api::all(client.clone());
    match call(api.get_opt(name)).await {
        Ok(Some(node)) => evidence(&node).map_or(FetchedNode::Unreachable, FetchedNode::Found),
        Ok(None) => FetchedNode::Missing,
        Err(error) => {
            tracing::warn!("cannot read node {name}: {error}");
            FetchedNode::Unreachable
        }
    }
}
