//! The definitions of the kinds, as far as a pass depends on them.

use std::collections::HashSet;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::Api;
use kube::{Client, CustomResourceExt as _};
use tenure_cluster::client::call;
use tenure_cluster::{AddressClaim, AddressPool, IPAMClaim, IPBlock, OwnerPodShape};

use crate::memory::OperatorMemory;
use crate::reports::{OperatorMetrics, WriteCause};
use crate::view::ClusterView;

/// Finds out whether the definition of a kind is being deleted, if an object of it is: then nobody asked for that object's end. And in which shape
/// the status of an IPAMClaim is written.
pub(crate) async fn look(
    client: &Client,
    metrics: &OperatorMetrics,
    view: &ClusterView,
    memory: &mut OperatorMemory,
) {
    let definitions = Definitions { client, metrics };
    let mut names = Vec::new();
    if view.pools.iter().any(|pool| pool.lease.deleting) {
        names.push(AddressPool::crd_name());
    }
    if view.all_blocks().any(|block| block.block.deleting) {
        names.push(IPBlock::crd_name());
    }
    if view.claims.iter().any(|claim| claim.object.metadata.deletion_timestamp.is_some()) {
        names.push(AddressClaim::crd_name());
    }
    memory.definitions_unsure = false;
    for name in names {
        memory.definitions_unsure |= definitions.is_unsure(name).await;
    }
    memory.ipam_claims_unsure = definitions.is_unsure_of_ipam_claims(view).await;
    let serves = view.ipam_claims.as_ref().map(|claims| claims.iter().any(|claim| !claim.wishes.is_empty()));
    match serves {
        // It may come back as another one.
        None => memory.owner_pod = None,
        Some(true) if memory.owner_pod.is_none() => memory.owner_pod = definitions.owner_pod().await,
        Some(_) => {}
    }
}

/// The definitions in the API server.
struct Definitions<'a> {
    client: &'a Client,
    metrics: &'a OperatorMetrics,
}

impl Definitions<'_> {
    fn api(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.client.clone())
    }

    /// Whether the IPAMClaims that look gone may be there. Without their definition, all of them look so.
    async fn is_unsure_of_ipam_claims(&self, view: &ClusterView) -> bool {
        let Some(known) = &view.ipam_claims else { return true };
        let known: HashSet<&str> =
            known.iter().filter_map(|claim| claim.object.metadata.uid.as_deref()).collect();
        let of_blocks = view.claim_blocks.iter().flat_map(|block| &block.claimed);
        let mut gone = of_blocks.filter(|of| of.claim.is_ipam() && !known.contains(&*of.claim.uid));
        gone.next().is_some() && self.is_unsure(IPAMClaim::crd_name()).await
    }

    /// Whether a definition is being deleted, or cannot be read.
    async fn is_unsure(&self, name: &str) -> bool {
        let api = self.api();
        let read = call(api.get_metadata(name));
        match self.metrics.counted("get", WriteCause::Mark, read).await {
            Ok(found) if found.metadata.deletion_timestamp.is_none() => false,
            Ok(_) => {
                tracing::error!("{name} is being deleted: nothing is asked back from the nodes");
                true
            }
            Err(error) => {
                tracing::warn!("cannot read {name}, so nothing is asked back from the nodes: {error}");
                true
            }
        }
    }

    /// The shape of the owner's pod in the definition of IPAMClaims; `None` if it cannot be read.
    async fn owner_pod(&self) -> Option<OwnerPodShape> {
        let (name, api) = (IPAMClaim::crd_name(), self.api());
        let read = call(api.get(name));
        match self.metrics.counted("get", WriteCause::Claim, read).await {
            Ok(found) => Some(OwnerPodShape::of(&found)),
            Err(error) => {
                tracing::warn!("cannot read {name}, so status.ownerPod is written as a text: {error}");
                None
            }
        }
    }
}
