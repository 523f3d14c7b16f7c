//! Creates, changes and ends IPBlocks.

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};
use tenure_cluster::client::ApiCallError;
use tenure_cluster::convert::BlockLease;
use tenure_cluster::{BLOCK_FINALIZER, FENCED_ANNOTATION, IPBlock};
use tenure_leases::operator::fence::FenceReason;
use tenure_leases::{BlockNameError, BlockPhase, IpBlock, MarkId};

use super::{BlockChange, WriteContext, WriteTime};
use crate::reports::{EventReason, EventSubject, Notice, WriteCause};
use crate::view::OUT_OF_SERVICE;

/// A block to change, as it was read.
#[derive(Debug)]
pub(super) struct ChangedBlock<'a> {
    pub(super) read: &'a IpBlock,
    pub(super) name: String,
    pub(super) group: String,
}

/// Creates an IPBlock. If it exists already, the next pass sees its holder.
pub(super) async fn grant(
    context: &mut WriteContext<'_>,
    lease: &BlockLease,
    cause: WriteCause,
) -> Result<(), ApiCallError> {
    let report = |error: &BlockNameError| tracing::error!("cannot grant {}: {error}", lease.cidr);
    let Ok(object) = lease.object().inspect_err(report) else { return Ok(()) };
    let (api, now) = (context.api::<IPBlock>(), context.now.elapsed);
    match context.call("create", cause, api.create(&PostParams::default(), &object)).await {
        Ok(created) => {
            tracing::info!("leased {} to node {}", lease.cidr, lease.holder.name);
            tell_granted(context, lease, &created, cause);
            context.memory.blocks.wrote(created, now);
            Ok(())
        }
        Err(error) if error.is_already_exists() => {
            let name = object.metadata.name.unwrap_or_default();
            let found = context.call("get", cause, api.get(&name)).await?;
            context.memory.blocks.wrote(found, now);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn tell_granted(context: &mut WriteContext<'_>, lease: &BlockLease, created: &IPBlock, cause: WriteCause) {
    let (cidr, pool, node) = (lease.cidr, &lease.pool.name, &lease.holder.name);
    let (reason, note) = if cause == WriteCause::Reclaim {
        let note = format!(
            "the IPBlock of {cidr} was gone; it was made again for node {node}, which holds the block"
        );
        (EventReason::BlockReclaimed, note)
    } else {
        let key = (node.to_string(), (lease.pool.uid, crate::view::is_ipv6(cidr)));
        if let Some(waited) = context.memory.grant_waited(&key, context.now.elapsed) {
            context.reports.metrics.granted(waited);
        }
        (EventReason::BlockLeased, format!("{cidr} of pool {pool} is leased to node {node}"))
    };
    let holder = EventSubject::named::<Node>("Node", node, lease.holder.uid.to_string());
    context.tell(Notice::new(reason, EventSubject::of(created, "IPBlock"), note).with(holder));
}

/// Changes an IPBlock.
pub(super) async fn change(
    context: &mut WriteContext<'_>,
    block: &ChangedBlock<'_>,
    change: BlockChange,
) -> Result<(), ApiCallError> {
    match change {
        BlockChange::Delete => return delete(context, block).await,
        BlockChange::RemoveFinalizer => return remove_finalizer(context, block).await,
        _ => {}
    }
    let (api, now) = (context.api::<IPBlock>(), context.now);
    let mut patch = json!({ "metadata": precondition(block) });
    if let Some(object) = patch.as_object_mut() {
        object.insert("status".to_owned(), status(change, now));
    }
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
    let call = api.patch_status(&block.name, &parameters, &patch);
    let written = context.call("patch", cause(change), call).await?;
    context.memory.blocks.wrote(written, now.elapsed);
    match change {
        BlockChange::Mark(mark) => {
            tracing::info!("asked node {} for {}: {}", block.read.holder.name, block.read.cidr, mark.why);
            context.memory.wrote_mark(mark.id, now.elapsed);
        }
        BlockChange::Clear(mark) => count_cleared(context, mark),
        BlockChange::Quarantine(reason) => {
            let (cidr, node) = (block.read.cidr, &block.read.holder.name);
            tracing::info!("{cidr} of node {node}: quarantine, {}", word(reason));
            context.memory.wrote_quarantine(block.read.uid, 0, now.elapsed);
            tell_quarantine(context, block, reason);
        }
        BlockChange::Elapse(seconds) => {
            context.memory.wrote_quarantine(block.read.uid, seconds, now.elapsed);
        }
        _ => {}
    }
    Ok(())
}

/// Counts a mark that was taken back, unless its answer was counted.
fn count_cleared(context: &mut WriteContext<'_>, mark: MarkId) {
    if context.memory.cleared(mark) {
        context.reports.metrics.mark("unanswered");
    }
}

/// Reports a quarantine, and the attestation that led to it.
fn tell_quarantine(context: &WriteContext<'_>, block: &ChangedBlock<'_>, reason: FenceReason) {
    let holder = &block.read.holder;
    let uid = block.read.adopted_node_uid.unwrap_or(holder.uid).to_string();
    let node = EventSubject::named::<Node>("Node", &holder.name, uid.clone());
    let attested = match reason {
        FenceReason::OutOfService => Some(format!("the taint {OUT_OF_SERVICE}")),
        FenceReason::Annotation => Some(format!("the annotation {FENCED_ANNOTATION}={uid}")),
        FenceReason::NodeGone | FenceReason::Replaced => None,
    };
    let why = match (&attested, reason) {
        (Some(attested), _) => format!("{attested} attests that its node is off"),
        (None, FenceReason::Replaced) => "another machine has its Node's name".to_owned(),
        (None, _) => "its Node is gone".to_owned(),
    };
    let note = format!("{} of node {} is in quarantine: {why}", block.read.cidr, holder.name);
    context.tell(Notice::new(EventReason::BlockQuarantined, subject(block), note).with(node.clone()));
    if let Some(attested) = attested {
        let note =
            format!("{attested} attests that node {} is off; its blocks are taken from it", holder.name);
        context.tell(Notice::new(EventReason::NodeFenced, node, note));
    }
}

/// The cause under which a change is counted.
fn cause(change: BlockChange) -> WriteCause {
    match change {
        BlockChange::Mark(_) | BlockChange::Clear(_) | BlockChange::Orphan => WriteCause::Mark,
        BlockChange::Delete | BlockChange::RemoveFinalizer => WriteCause::Release,
        BlockChange::Quarantine(_)
        | BlockChange::Elapse(_)
        | BlockChange::Return
        | BlockChange::Adopt(_)
        | BlockChange::EndTurn
        | BlockChange::EndAlternate => WriteCause::Fence,
    }
}

/// The status that a change writes.
fn status(change: BlockChange, now: WriteTime) -> Value {
    match change {
        BlockChange::Mark(mark) => json!({ "mark": { "id": mark.id.to_string(), "why": mark.why.as_str() } }),
        BlockChange::Clear(mark) => json!({ "mark": null, "cleared": mark.to_string() }),
        BlockChange::Orphan => json!({ "phase": BlockPhase::Orphaned.as_str(), "since": Time(now.day) }),
        BlockChange::Quarantine(reason) => json!({
            "phase": BlockPhase::Quarantined.as_str(),
            "reason": word(reason),
            "since": Time(now.day),
            "elapsedSeconds": 0,
        }),
        BlockChange::Elapse(seconds) => json!({ "elapsedSeconds": seconds }),
        BlockChange::Return => json!({ "phase": "", "reason": null, "since": null, "elapsedSeconds": 0 }),
        BlockChange::Adopt(uid) => {
            json!({ "phase": "", "reason": null, "since": null, "elapsedSeconds": 0, "adoptedNodeUID": uid.to_string() })
        }
        BlockChange::EndTurn => json!({
            "active": null, "adoptedNodeUID": null, "phase": "", "reason": null, "since": null, "elapsedSeconds": 0,
        }),
        BlockChange::EndAlternate => json!({ "alternate": null }),
        BlockChange::Delete | BlockChange::RemoveFinalizer => Value::Null,
    }
}

/// Deletes an IPBlock, whose finalizer keeps it until the next step.
async fn delete(context: &mut WriteContext<'_>, block: &ChangedBlock<'_>) -> Result<(), ApiCallError> {
    let preconditions = Preconditions {
        uid: Some(block.read.uid.to_string()),
        resource_version: Some(block.read.version.0.to_string()),
    };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    let api = context.api::<IPBlock>();
    let call = api.delete(&block.name, &parameters);
    match context.call("delete", WriteCause::Release, call).await?.left() {
        Some(object) => context.memory.blocks.wrote(object, context.now.elapsed),
        None => gone(context, block),
    }
    Ok(())
}

/// Removes the operator's finalizer from an IPBlock that is being deleted.
async fn remove_finalizer(
    context: &mut WriteContext<'_>,
    block: &ChangedBlock<'_>,
) -> Result<(), ApiCallError> {
    let api = context.api::<IPBlock>();
    let read = context.call("get", WriteCause::Release, api.get(&block.name)).await?;
    let others: Vec<&String> = read.finalizers().iter().filter(|name| *name != BLOCK_FINALIZER).collect();
    let mut metadata = precondition(block);
    if let Some(object) = metadata.as_object_mut() {
        object.insert("finalizers".to_owned(), json!(others));
    }
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(json!({ "metadata": metadata })));
    context.call("patch", WriteCause::Release, api.patch(&block.name, &parameters, &patch)).await?;
    gone(context, block);
    Ok(())
}

fn gone(context: &mut WriteContext<'_>, block: &ChangedBlock<'_>) {
    let (read, now) = (block.read, context.now.elapsed);
    let holder = match &*read.holder.name {
        "" => "a claim".to_owned(),
        node => format!("node {node}"),
    };
    tracing::info!("{} of {holder} is free", read.cidr);
    let how =
        if read.phase == BlockPhase::Quarantined { "its quarantine is over" } else { "it was given back" };
    let note = format!("{} of {holder} is free: {how}", read.cidr);
    context.tell(Notice::new(EventReason::BlockReleased, subject(block), note));
    context.memory.blocks.deleted(&read.uid.to_string(), now);
    context.memory.ended(read.uid);
    context.memory.released(&block.group, read.cidr, &read.holder.name);
}

fn subject(block: &ChangedBlock<'_>) -> EventSubject {
    EventSubject::named::<IPBlock>("IPBlock", &block.name, block.read.uid.to_string())
}

/// The uid and the version that a write carries.
fn precondition(block: &ChangedBlock<'_>) -> Value {
    json!({ "uid": block.read.uid.to_string(), "resourceVersion": block.read.version.0.to_string() })
}

/// The reason of a quarantine, as the status says it.
fn word(reason: FenceReason) -> &'static str {
    match reason {
        FenceReason::OutOfService => "OutOfService",
        FenceReason::Annotation => "Fenced",
        FenceReason::NodeGone => "NodeGone",
        FenceReason::Replaced => "MachineReplaced",
    }
}
