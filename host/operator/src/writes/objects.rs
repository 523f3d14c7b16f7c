//! Spaces, hints and pools.

use std::fmt::Debug;

use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tenure_cluster::client::{ApiCallError, call};
use tenure_cluster::convert::list_version;
use tenure_cluster::{AddressPool, AddressSpace, AddressSpaceSpec, IPBlock, NodeIPAM};
use tenure_leases::space::QuorumListing;
use tenure_leases::{AddressSpace as LeaseSpace, LeaseRules, ObjectVersion, RangeId};

use super::{ObjectTarget, WriteTime};
use crate::memory::OperatorMemory;

/// Creates or replaces a space. Another operator's write in between is a conflict.
pub(super) async fn write_space(
    client: &Client,
    memory: &mut OperatorMemory,
    group: &str,
    version: Option<ObjectVersion>,
    space: &LeaseSpace,
    now: WriteTime,
) -> Result<(), ApiCallError> {
    let api: Api<AddressSpace> = Api::all(client.clone());
    let mut object = AddressSpace::new(group, AddressSpaceSpec::from(space));
    let parameters = PostParams::default();
    let written = match version {
        Some(version) => {
            object.metadata.resource_version = Some(version.0.to_string());
            call(api.replace(group, &parameters, &object)).await?
        }
        None => call(api.create(&parameters, &object)).await?,
    };
    memory.spaces.wrote(written, now.elapsed);
    Ok(())
}

/// Removes closed ranges of which a quorum LIST, made now, shows no block.
pub(super) async fn remove_ranges(
    client: &Client,
    memory: &mut OperatorMemory,
    group: &str,
    version: ObjectVersion,
    mut space: LeaseSpace,
    ranges: &[RangeId],
    now: WriteTime,
) -> Result<(), ApiCallError> {
    let api: Api<IPBlock> = Api::all(client.clone());
    let list = call(api.list(&ListParams::default())).await?;
    let Some(listed) = list_version(&list.metadata) else { return Ok(()) };
    let named = list.items.iter().filter(|block| block.spec.group == group);
    // A block whose range cannot be read keeps every range.
    let Some(named) = named.map(|block| block.range().ok()).collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    let listing = QuorumListing { version: listed, ranges: named };
    let removed =
        ranges.iter().filter(|range| space.remove(LeaseRules::ALL, **range, version, &listing).is_ok());
    if removed.count() == 0 {
        return Ok(());
    }
    write_space(client, memory, group, Some(version), &space, now).await
}

/// Replaces an object's status, at the version that was read.
pub(super) async fn write_status<K>(client: &Client, object: &K) -> Result<K, ApiCallError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
{
    let api: Api<K> = Api::all(client.clone());
    call(api.replace_status(&object.name_any(), &PostParams::default(), object)).await
}

/// Deletes a NodeIPAM.
pub(super) async fn forget(
    client: &Client,
    memory: &mut OperatorMemory,
    target: &ObjectTarget,
    now: WriteTime,
) -> Result<(), ApiCallError> {
    let api: Api<NodeIPAM> = Api::all(client.clone());
    let preconditions =
        Preconditions { uid: Some(target.uid.clone()), resource_version: Some(target.version.clone()) };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    call(api.delete(&target.name, &parameters)).await?;
    memory.said.deleted(target.uid.clone(), now.elapsed);
    tracing::info!("node {} is gone, and its blocks are settled", target.name);
    Ok(())
}

/// Writes a pool's finalizers.
pub(super) async fn write_finalizers(
    client: &Client,
    memory: &mut OperatorMemory,
    target: &ObjectTarget,
    finalizers: &[String],
    now: WriteTime,
) -> Result<(), ApiCallError> {
    let api: Api<AddressPool> = Api::all(client.clone());
    let mut metadata = precondition(target);
    if let Some(object) = metadata.as_object_mut() {
        object.insert("finalizers".to_owned(), json!(finalizers));
    }
    let patch = json!({ "metadata": metadata });
    let written = call(api.patch(&target.name, &PatchParams::default(), &Patch::Merge(&patch))).await?;
    let gone = written.metadata.deletion_timestamp.is_some() && finalizers.is_empty();
    if gone {
        memory.pools.deleted(target.uid.clone(), now.elapsed);
    } else {
        memory.pools.wrote(written, now.elapsed);
    }
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
