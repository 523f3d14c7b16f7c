//! Leases addresses to claims, and passes them from node to node.

use std::net::IpAddr;

use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tenure_cluster::client::ApiCallError;
use tenure_cluster::convert::ClaimLease;
use tenure_cluster::objects::reference::{ActiveEntry, ClaimReference};
use tenure_cluster::{AddressClaim, AddressClaimStatus, IPAMClaim, IPBlock, NodeIPAM, OwnerPodShape};

use super::block::{ChangedBlock, change};
use super::{BlockChange, ObjectTarget, WriteContext, objects};
use crate::reports::WriteCause;
use crate::view::{BlockView, WatchedClaim, WatchedIpamClaim};

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
    write_turns(context, view, is_active(&active)).await?;
    tracing::info!("{} is node {node}'s, for pod {pod}", view.block.cidr);
    Ok(())
}

/// Begins the turn of the node that a virtual machine moves to, beside the active one.
pub(super) async fn begin_alternate(
    context: &mut WriteContext<'_>,
    view: &BlockView,
    entry: ActiveEntry,
) -> Result<(), ApiCallError> {
    write_turns(context, view, json!({ "alternate": whole(&entry) })).await?;
    let (from, to) = (&view.block.holder.name, &entry.node_name);
    tracing::info!("a virtual machine with {} moves from node {from} to node {to}", view.block.cidr);
    Ok(())
}

/// Lets the turns change places, in one write. What was known of the node that was active, such as a quarantine, is known of no other.
pub(super) async fn switch(context: &mut WriteContext<'_>, view: &BlockView) -> Result<(), ApiCallError> {
    let Some(claimed) = &view.claimed else { return Ok(()) };
    let Some(alternate) = &claimed.alternate else { return Ok(()) };
    let left = claimed.active.clone().map(|active| ActiveEntry { has_left: true, ..active });
    let mut status = is_active(&ActiveEntry { has_left: false, ..alternate.entry.clone() });
    if let Some(status) = status.as_object_mut() {
        status.insert("alternate".to_owned(), left.as_ref().map_or(Value::Null, whole));
    }
    write_turns(context, view, status).await?;
    tracing::info!("{} is node {}'s: its virtual machine has moved", view.block.cidr, alternate.holder.name);
    Ok(())
}

/// An entry in the place of another one: a merge keeps what is not named.
fn whole(entry: &ActiveEntry) -> Value {
    let mut value = json!(entry);
    if let Some(fields) = value.as_object_mut() {
        fields.entry("hasLeft").or_insert(Value::Null);
        fields.entry("guest").or_insert(Value::Null);
    }
    value
}

/// The status of a block whose turn this is, and of whose node nothing bad is known.
fn is_active(active: &ActiveEntry) -> Value {
    json!({ "active": whole(active), "adoptedNodeUID": null, "phase": "", "reason": null, "since": null, "elapsedSeconds": 0 })
}

/// Writes the turns of a block, at the version that was read.
async fn write_turns(
    context: &mut WriteContext<'_>,
    view: &BlockView,
    status: Value,
) -> Result<(), ApiCallError> {
    let (uid, version) = (view.block.uid.to_string(), view.block.version.0.to_string());
    let patch = json!({ "metadata": { "uid": uid, "resourceVersion": version }, "status": status });
    let api = context.api::<IPBlock>();
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
    let call = api.patch_status(&view.name, &parameters, &patch);
    let written = context.call("patch", WriteCause::Claim, call).await?;
    context.memory.blocks.wrote(written, context.now.elapsed);
    Ok(())
}

/// Ends a turn that its node no longer says, after a quorum GET of the node's words: those at hand may be older than the turn.
pub(super) async fn end(
    context: &mut WriteContext<'_>,
    view: &BlockView,
    step: BlockChange,
) -> Result<(), ApiCallError> {
    let Some(claimed) = &view.claimed else { return Ok(()) };
    let found = match step {
        BlockChange::EndAlternate => {
            claimed.alternate.as_ref().map(|alternate| (&alternate.holder.name, alternate.turn))
        }
        _ => claimed.turn.map(|turn| (&view.block.holder.name, turn)),
    };
    let Some((node, turn)) = found else { return Ok(()) };
    let api = context.api::<NodeIPAM>();
    let said = context.call("get", WriteCause::Claim, api.get(node)).await?;
    let turn = turn.to_string();
    if said.spec.claims.iter().any(|entry| entry.block == view.name && entry.turn == turn) {
        return Ok(());
    }
    tracing::info!("node {node} no longer has {}", view.block.cidr);
    change(context, &changed(view), step).await
}

/// Deletes the IPBlock of a claim that is over, or that has another one, after a quorum GET of the claim.
pub(super) async fn release(context: &mut WriteContext<'_>, view: &BlockView) -> Result<(), ApiCallError> {
    let Some(claimed) = &view.claimed else { return Ok(()) };
    if !view.block.deleting && is_claimed(context, &claimed.claim, view.block.cidr.addr()).await? {
        return Ok(());
    }
    let step = if view.block.deleting { BlockChange::RemoveFinalizer } else { BlockChange::Delete };
    change(context, &changed(view), step).await
}

/// Whether a claim is there, nobody deletes it, and its status does not name another address of the family.
async fn is_claimed(
    context: &WriteContext<'_>,
    claim: &ClaimReference,
    address: IpAddr,
) -> Result<bool, ApiCallError> {
    let (namespace, name) = (&claim.namespace, &claim.name);
    let found = match claim.is_ipam() {
        true => {
            let api: Api<WatchedIpamClaim> = Api::namespaced(context.client.clone(), namespace);
            let found = context.call("get", WriteCause::Claim, api.get_opt(name)).await?;
            found.map(|claim| (claim.metadata, claim.status.map(|status| status.ips).unwrap_or_default()))
        }
        false => {
            let api = claims(context.client, namespace);
            let found = context.call("get", WriteCause::Claim, api.get_opt(name)).await?;
            let address_of = |status: Option<AddressClaimStatus>| {
                status.and_then(|status| status.address).into_iter().collect()
            };
            found.map(|claim| (claim.metadata, address_of(claim.status)))
        }
    };
    let Some((metadata, ips)) = found else { return Ok(false) };
    let is_it = metadata.uid.as_ref() == Some(&claim.uid) && metadata.deletion_timestamp.is_none();
    // An IPAMClaim's have a prefix length.
    let told = ips.iter().filter_map(|ip| ip.split('/').next()?.parse::<IpAddr>().ok());
    let mut told = told.filter(|told| told.is_ipv4() == address.is_ipv4()).peekable();
    Ok(is_it && (told.peek().is_none() || told.any(|told| told == address)))
}

/// Writes an IPAMClaim's status, at the version that was read. If the API server refuses it, the definition is read again.
pub(super) async fn write_ipam_status(
    context: &mut WriteContext<'_>,
    claim: &IPAMClaim,
) -> Result<(), ApiCallError> {
    let api: Api<WatchedIpamClaim> =
        Api::namespaced(context.client.clone(), &claim.namespace().unwrap_or_default());
    let target = ObjectTarget::from(&claim.metadata);
    let shape = context.memory.owner_pod.unwrap_or(OwnerPodShape::Text);
    let status = claim.status.as_ref().map(|status| shape.patch(status));
    match objects::write_status(context, WriteCause::Claim, &api, &target, &status).await {
        Ok(written) => {
            context.memory.ipam_claims.wrote(written, context.now.elapsed);
            Ok(())
        }
        Err(error) => {
            if error.is_invalid() {
                context.memory.owner_pod = None;
            }
            Err(error)
        }
    }
}

/// Writes a claim's status, at the version that was read.
pub(super) async fn write_status(
    context: &mut WriteContext<'_>,
    claim: &AddressClaim,
) -> Result<(), ApiCallError> {
    let api = claims(context.client, &claim.namespace().unwrap_or_default());
    let target = ObjectTarget::from(&claim.metadata);
    let written = objects::write_status(context, WriteCause::Claim, &api, &target, &claim.status).await?;
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
        true => context.memory.claims.deleted(&claim.uid().unwrap_or_default(), context.now.elapsed),
        false => context.memory.claims.wrote(written, context.now.elapsed),
    }
    Ok(())
}

fn claims(client: &Client, namespace: &str) -> Api<WatchedClaim> {
    Api::namespaced(client.clone(), namespace)
}

fn changed(view: &BlockView) -> ChangedBlock<'_> {
    ChangedBlock { read: &view.block, name: view.name.clone(), group: view.group.clone() }
}
