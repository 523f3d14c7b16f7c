//! Leases addresses to claims, and passes them from node to node.

use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::json;
use tenure_cluster::client::ApiCallError;
use tenure_cluster::convert::ClaimLease;
use tenure_cluster::objects::reference::ActiveEntry;
use tenure_cluster::{AddressClaim, IPBlock, NodeIPAM};

use super::block::{ChangedBlock, change};
use super::{BlockChange, WriteContext};
use crate::reports::WriteCause;
use crate::view::BlockView;

/// Creates the IPBlock of a claim. If an object has its name already, the next pass sees it, and takes another address.
pub(super) async fn grant(context: &mut WriteContext<'_>, lease: &ClaimLease) -> Result<(), ApiCallError> {
    let object = match lease.object() {
        Ok(object) => object,
        Err(error) => {
            tracing::error!("cannot lease {} to a claim: {error}", lease.cidr);
            return Ok(());
        }
    };
    let (api, now) = (context.api::<IPBlock>(), context.now.elapsed);
    let created =
        match context.call("create", WriteCause::Claim, api.create(&PostParams::default(), &object)).await {
            Err(error) if error.is_already_exists() => {
                context.call("get", WriteCause::Claim, api.get(&object.name_any())).await?
            }
            other => other?,
        };
    tracing::info!("leased {} to claim {}/{}", lease.cidr, lease.claim.namespace, lease.claim.name);
    context.memory.blocks.wrote(created, now);
    Ok(())
}

/// Begins a node's turn. Another operator's write in between is a conflict.
pub(super) async fn begin(
    context: &mut WriteContext<'_>,
    view: &BlockView,
    active: ActiveEntry,
) -> Result<(), ApiCallError> {
    let (node, pod) = (active.node_name.clone(), active.pod.clone());
    let patch = json!({
        "metadata": { "uid": view.block.uid.to_string(), "resourceVersion": view.block.version.0.to_string() },
        "status": { "active": active, "adoptedNodeUID": null, "phase": "", "reason": null, "since": null, "elapsedSeconds": 0 },
    });
    let api = context.api::<IPBlock>();
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
    let call = api.patch_status(&view.name, &parameters, &patch);
    let written = context.call("patch", WriteCause::Claim, call).await?;
    context.memory.blocks.wrote(written, context.now.elapsed);
    tracing::info!("{} is node {node}'s, for pod {pod}", view.block.cidr);
    Ok(())
}

/// Ends a turn that its node no longer says, after a quorum GET of the node's words: those at hand may be older than the turn.
pub(super) async fn end(context: &mut WriteContext<'_>, view: &BlockView) -> Result<(), ApiCallError> {
    let node = &view.block.holder.name;
    let Some(turn) = view.claimed.as_ref().and_then(|claimed| claimed.turn) else { return Ok(()) };
    let api = context.api::<NodeIPAM>();
    let said = context.call("get", WriteCause::Claim, api.get(node)).await?;
    let turn = turn.to_string();
    if said.spec.claims.iter().any(|entry| entry.block == view.name && entry.turn == turn) {
        return Ok(());
    }
    tracing::info!("node {node} no longer has {}", view.block.cidr);
    change(context, &changed(view), BlockChange::EndTurn).await
}

/// Deletes the IPBlock of a claim that is over, after a quorum GET of the claim.
pub(super) async fn release(context: &mut WriteContext<'_>, view: &BlockView) -> Result<(), ApiCallError> {
    let Some(claimed) = &view.claimed else { return Ok(()) };
    let api = claims(context.client, &claimed.claim.namespace);
    let found = context.call("get", WriteCause::Claim, api.get_opt(&claimed.claim.name)).await?;
    let is_there = |claim: &AddressClaim| {
        claim.metadata.uid.as_ref() == Some(&claimed.claim.uid) && claim.metadata.deletion_timestamp.is_none()
    };
    if !view.block.deleting && found.as_ref().is_some_and(is_there) {
        return Ok(());
    }
    let step = if view.block.deleting { BlockChange::RemoveFinalizer } else { BlockChange::Delete };
    change(context, &changed(view), step).await
}

/// Replaces a claim's status, at the version that was read.
pub(super) async fn write_status(
    context: &mut WriteContext<'_>,
    claim: &AddressClaim,
) -> Result<(), ApiCallError> {
    let api = claims(context.client, &claim.namespace().unwrap_or_default());
    let (name, parameters) = (claim.name_any(), PostParams::default());
    let call = api.replace_status(&name, &parameters, claim);
    let written = context.call("update", WriteCause::Claim, call).await?;
    context.memory.claims.wrote(written, context.now.elapsed);
    Ok(())
}

/// Writes a claim's finalizers.
pub(super) async fn write_finalizers(
    context: &mut WriteContext<'_>,
    claim: &AddressClaim,
    finalizers: &[String],
) -> Result<(), ApiCallError> {
    let api = claims(context.client, &claim.namespace().unwrap_or_default());
    let (name, parameters) = (claim.name_any(), PatchParams::default());
    let patch = json!({ "metadata": {
        "uid": claim.uid(), "resourceVersion": claim.resource_version(), "finalizers": finalizers,
    } });
    let patch = Patch::Merge(&patch);
    let call = api.patch(&name, &parameters, &patch);
    let written = context.call("patch", WriteCause::Claim, call).await?;
    match written.metadata.deletion_timestamp.is_some() && finalizers.is_empty() {
        true => context.memory.claims.deleted(claim.uid().unwrap_or_default(), context.now.elapsed),
        false => context.memory.claims.wrote(written, context.now.elapsed),
    }
    Ok(())
}

fn claims(client: &Client, namespace: &str) -> Api<AddressClaim> {
    Api::namespaced(client.clone(), namespace)
}

fn changed(view: &BlockView) -> ChangedBlock<'_> {
    ChangedBlock { read: &view.block, name: view.name.clone(), group: view.group.clone() }
}
