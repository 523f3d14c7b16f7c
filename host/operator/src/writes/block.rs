//! Creates, changes and ends IPBlocks.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};
use tenure_cluster::client::{ApiCallError, call};
use tenure_cluster::convert::BlockLease;
use tenure_cluster::{BLOCK_FINALIZER, IPBlock};
use tenure_leases::operator::fence::FenceReason;
use tenure_leases::{BlockPhase, IpBlock};

use super::{BlockChange, WriteTime};
use crate::memory::OperatorMemory;

/// A block to change, as it was read.
#[derive(Debug)]
pub(super) struct ChangedBlock<'a> {
    pub(super) read: &'a IpBlock,
    pub(super) name: String,
    pub(super) group: String,
}

/// Creates an IPBlock. If it exists already, the next pass sees its holder.
pub(super) async fn grant(
    client: &Client,
    memory: &mut OperatorMemory,
    lease: &BlockLease,
    now: WriteTime,
) -> Result<(), ApiCallError> {
    let object = match lease.object() {
        Ok(object) => object,
        Err(error) => {
            tracing::error!("cannot grant {}: {error}", lease.cidr);
            return Ok(());
        }
    };
    let api: Api<IPBlock> = Api::all(client.clone());
    match call(api.create(&PostParams::default(), &object)).await {
        Ok(created) => {
            tracing::info!("leased {} to node {}", lease.cidr, lease.holder.name);
            memory.blocks.wrote(created, now.elapsed);
            Ok(())
        }
        Err(error) if error.is_already_exists() => {
            let name = object.metadata.name.unwrap_or_default();
            memory.blocks.wrote(call(api.get(&name)).await?, now.elapsed);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Changes an IPBlock.
pub(super) async fn change(
    client: &Client,
    memory: &mut OperatorMemory,
    block: &ChangedBlock<'_>,
    change: BlockChange,
    now: WriteTime,
) -> Result<(), ApiCallError> {
    let api: Api<IPBlock> = Api::all(client.clone());
    match change {
        BlockChange::Delete => return delete(&api, memory, block, now).await,
        BlockChange::RemoveFinalizer => return remove_finalizer(&api, memory, block, now).await,
        _ => {}
    }
    let mut patch = json!({ "metadata": precondition(block) });
    if let Some(object) = patch.as_object_mut() {
        object.insert("status".to_owned(), status(change, now));
    }
    let written = call(api.patch_status(&block.name, &PatchParams::default(), &Patch::Merge(&patch))).await?;
    memory.blocks.wrote(written, now.elapsed);
    match change {
        BlockChange::Mark(mark) => {
            tracing::info!("asked node {} for {}: {}", block.read.holder.name, block.read.cidr, mark.why);
            memory.wrote_mark(mark.id, now.elapsed);
        }
        BlockChange::Clear(mark) => memory.cleared(mark),
        BlockChange::Quarantine(reason) => {
            tracing::info!(
                "{} of node {}: quarantine, {}",
                block.read.cidr,
                block.read.holder.name,
                word(reason)
            );
            memory.wrote_quarantine(block.read.uid, now.elapsed);
        }
        BlockChange::Elapse(_) => memory.wrote_quarantine(block.read.uid, now.elapsed),
        _ => {}
    }
    Ok(())
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
        BlockChange::Delete | BlockChange::RemoveFinalizer => Value::Null,
    }
}

/// Deletes an IPBlock, whose finalizer keeps it until the next step.
async fn delete(
    api: &Api<IPBlock>,
    memory: &mut OperatorMemory,
    block: &ChangedBlock<'_>,
    now: WriteTime,
) -> Result<(), ApiCallError> {
    let preconditions = Preconditions {
        uid: Some(block.read.uid.to_string()),
        resource_version: Some(block.read.version.0.to_string()),
    };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match call(api.delete(&block.name, &parameters)).await?.left() {
        Some(object) => memory.blocks.wrote(object, now.elapsed),
        None => gone(memory, block, now),
    }
    Ok(())
}

/// Removes the operator's finalizer from an IPBlock that is being deleted.
async fn remove_finalizer(
    api: &Api<IPBlock>,
    memory: &mut OperatorMemory,
    block: &ChangedBlock<'_>,
    now: WriteTime,
) -> Result<(), ApiCallError> {
    let read = call(api.get(&block.name)).await?;
    let finalizers = read.metadata.finalizers.unwrap_or_default();
    let others: Vec<String> = finalizers.into_iter().filter(|name| name != BLOCK_FINALIZER).collect();
    let mut metadata = precondition(block);
    if let Some(object) = metadata.as_object_mut() {
        object.insert("finalizers".to_owned(), json!(others));
    }
    let patch = json!({ "metadata": metadata });
    call(api.patch(&block.name, &PatchParams::default(), &Patch::Merge(&patch))).await?;
    gone(memory, block, now);
    Ok(())
}

fn gone(memory: &mut OperatorMemory, block: &ChangedBlock<'_>, now: WriteTime) {
    tracing::info!("{} of node {} is free", block.read.cidr, block.read.holder.name);
    memory.blocks.deleted(block.read.uid.to_string(), now.elapsed);
    memory.released(&block.group, block.read.cidr);
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
