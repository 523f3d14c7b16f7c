//! Spaces, hints and pools.

use std::collections::BTreeSet;
use std::fmt::Debug;

use k8s_openapi::api::core::v1::Taint;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tenure_cluster::client::ApiCallError;
use tenure_cluster::convert::list_version;
use tenure_cluster::{AddressPool, AddressSpace, AddressSpaceSpec, IPBlock, NodeIPAM, NodeIPAMStatus};
use tenure_leases::space::QuorumListing;
use tenure_leases::{AddressSpace as LeaseSpace, LeaseRules, ObjectVersion, RangeId};

use super::{ObjectTarget, WriteContext};
use crate::reports::WriteCause;
use crate::view::{BlockView, FromObject as _, SaidView, WatchedNode};

/// Creates a space or writes its ranges. Another operator's write in between is a conflict.
pub(super) async fn write_space(
    context: &mut WriteContext<'_>,
    group: &str,
    version: Option<ObjectVersion>,
    space: &LeaseSpace,
) -> Result<(), ApiCallError> {
    let api = context.api::<AddressSpace>();
    let object = AddressSpace::new(group, AddressSpaceSpec::from(space));
    let written = match version {
        Some(version) => {
            let metadata = json!({ "resourceVersion": version.0.to_string() });
            let patch = json!({ "metadata": metadata, "spec": object.spec });
            let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
            context.call("patch", WriteCause::Space, api.patch(group, &parameters, &patch)).await?
        }
        None => {
            let parameters = PostParams::default();
            context.call("create", WriteCause::Space, api.create(&parameters, &object)).await?
        }
    };
    context.memory.spaces.wrote(written, context.now.elapsed);
    Ok(())
}

/// Removes closed ranges of which a quorum LIST, made now, shows no block.
pub(super) async fn remove_ranges(
    context: &mut WriteContext<'_>,
    group: &str,
    version: ObjectVersion,
    mut space: LeaseSpace,
    ranges: &[RangeId],
) -> Result<(), ApiCallError> {
    let Some(listing) = list_ranges(context, group).await? else { return Ok(()) };
    let removed =
        ranges.iter().filter(|range| space.remove(LeaseRules::ALL, **range, version, &listing).is_ok());
    if removed.count() == 0 {
        return Ok(());
    }
    write_space(context, group, Some(version), &space).await
}

/// Lists the ranges of a group's blocks from etcd, in pages of one version; `None` if one cannot be read: that block keeps every range.
async fn list_ranges(context: &WriteContext<'_>, group: &str) -> Result<Option<QuorumListing>, ApiCallError> {
    let api = context.api::<IPBlock>();
    let (mut parameters, mut ranges) = (ListParams::default().limit(BlockView::PAGE), BTreeSet::new());
    loop {
        let page = context.call("list", WriteCause::Space, api.list(&parameters)).await?;
        for block in page.items.iter().filter(|block| block.spec.group == group) {
            let Ok(range) = block.range() else { return Ok(None) };
            ranges.insert(range);
        }
        match page.metadata.continue_.as_ref().filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(token),
            None => {
                let version = list_version(&page.metadata);
                return Ok(
                    version.map(|version| QuorumListing { version, ranges: ranges.into_iter().collect() })
                );
            }
        }
    }
}

/// Writes the fields of a status that this version knows, at the version that was read. Those that a later version has added stay: while an
/// operator is upgraded, or goes back, both versions write.
pub(super) async fn write_status<K>(
    context: &WriteContext<'_>,
    cause: WriteCause,
    api: &Api<K>,
    target: &ObjectTarget,
    status: &impl Serialize,
) -> Result<K, ApiCallError>
where
    K: Clone + Debug + DeserializeOwned,
{
    // In a merge (RFC 7396), a field that is missing stays, and one that is null goes: a status has all of its fields.
    let patch = json!({ "metadata": precondition(target), "status": status });
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
    context.call("patch", cause, api.patch_status(&target.name, &parameters, &patch)).await
}

/// Writes the operator's half of a NodeIPAM, at the version that was read.
pub(super) async fn write_hints(
    context: &mut WriteContext<'_>,
    said: &SaidView,
    status: &NodeIPAMStatus,
) -> Result<(), ApiCallError> {
    let (api, target) =
        (context.api::<NodeIPAM>(), ObjectTarget::new(&said.spec.identity.name, said.uid, said.version));
    let written = write_status(context, WriteCause::Hint, &api, &target, status).await?;
    context.memory.said.wrote(written, context.now.elapsed);
    Ok(())
}

/// Deletes a NodeIPAM.
pub(super) async fn forget(
    context: &mut WriteContext<'_>,
    target: &ObjectTarget,
) -> Result<(), ApiCallError> {
    let api = context.api::<NodeIPAM>();
    let preconditions =
        Preconditions { uid: Some(target.uid.clone()), resource_version: Some(target.version.clone()) };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    context.call("delete", WriteCause::Hint, api.delete(&target.name, &parameters)).await?;
    context.memory.said.deleted(&target.uid, context.now.elapsed);
    target.uid.parse().into_iter().for_each(|uid| context.memory.ended(uid));
    context.memory.forgot(&target.name);
    tracing::info!("node {} is gone, and its blocks are settled", target.name);
    Ok(())
}

/// Writes a pool's finalizers.
pub(super) async fn write_finalizers(
    context: &mut WriteContext<'_>,
    target: &ObjectTarget,
    finalizers: &[String],
) -> Result<(), ApiCallError> {
    let api = context.api::<AddressPool>();
    let mut metadata = precondition(target);
    if let Some(object) = metadata.as_object_mut() {
        object.insert("finalizers".to_owned(), json!(finalizers));
    }
    let patch = json!({ "metadata": metadata });
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
    let call = api.patch(&target.name, &parameters, &patch);
    let written = context.call("patch", WriteCause::Pool, call).await?;
    let gone = written.metadata.deletion_timestamp.is_some() && finalizers.is_empty();
    if gone {
        context.memory.pools.deleted(&target.uid, context.now.elapsed);
    } else {
        context.memory.pools.wrote(written, context.now.elapsed);
    }
    Ok(())
}

/// Writes a Node's taints.
pub(super) async fn write_taints(
    context: &mut WriteContext<'_>,
    target: &ObjectTarget,
    taints: &[Taint],
) -> Result<(), ApiCallError> {
    let api = context.api::<WatchedNode>();
    let patch = json!({ "metadata": precondition(target), "spec": { "taints": taints } });
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
    let call = api.patch(&target.name, &parameters, &patch);
    let written = context.call("patch", WriteCause::Taint, call).await?;
    context.memory.hosts.wrote(written, context.now.elapsed);
    tracing::info!("node {} has its blocks: pods may come", target.name);
    Ok(())
}

/// The uid and the version that a write carries.
fn precondition(target: &ObjectTarget) -> serde_json::Value {
    json!({ "uid": target.uid, "resourceVersion": target.version })
}

impl From<&ObjectMeta> for ObjectTarget {
    fn from(metadata: &ObjectMeta) -> Self {
        Self {
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            version: metadata.resource_version.clone().unwrap_or_default(),
        }
    }
}
