//! Reads the pod CIDRs of Nodes, which a cloud or the controller manager gave them.

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};
use tenure_cluster::client::call;

use super::plan::FoundUse;

/// Reads the pod CIDRs.
///
/// # Errors
/// If the Nodes cannot be listed, or one of their pod CIDRs is not a CIDR.
pub(super) async fn read(client: &Client) -> anyhow::Result<Vec<FoundUse>> {
    let api: Api<Node> = Api::all(client.clone());
    let nodes = call(api.list(&ListParams::default())).await.context("cannot list Nodes")?;
    let mut found = Vec::new();
    for node in nodes.items {
        let name = node.name_any();
        let spec = node.spec.unwrap_or_default();
        let cidrs = spec.pod_cidrs.unwrap_or_default();
        // An old Node has the first one alone.
        let first = spec.pod_cidr.filter(|_| cidrs.is_empty());
        for text in cidrs.into_iter().chain(first) {
            let cidr = text.parse().with_context(|| format!("Node {name}: {text:?} is not a CIDR"))?;
            found.push(FoundUse { cidr, owner: format!("node {name}") });
        }
    }
    Ok(found)
}
