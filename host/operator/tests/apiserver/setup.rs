//! The definitions on an API server, and an end of what a test left there.

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;
use tenure_cluster::client::{call, connect};
use tenure_cluster::definitions::definitions;
use tenure_cluster::{AddressClaim, AddressPool, AddressSpace, IPBlock, NodeIPAM};
use tenure_fixtures::control_plane::later;

/// The objects of a kind, all of which have no namespace.
pub(crate) fn all<K: Resource<DynamicType = ()>>(client: &Client) -> Api<K> {
    // `Api::all` of a kind with namespaces could not create.
    Api::all(client.clone())
}

/// Deletes all objects of a kind, finalizers or not.
pub(crate) async fn clear<K>(client: &Client) -> anyhow::Result<()>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
{
    let api: Api<K> = all(client);
    for object in call(api.list(&ListParams::default())).await? {
        let name = object.name_any();
        let patch = json!({ "metadata": { "finalizers": null } });
        // It may go at once, and be gone by then.
        let _ = call(api.delete(&name, &DeleteParams::default())).await;
        let _ = call(api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch))).await;
    }
    let left = call(api.list(&ListParams::default())).await?.items.len();
    ensure!(left == 0, "{left} {} are left", K::plural(&()));
    Ok(())
}

/// Deletes all claims, finalizers or not.
pub(crate) async fn clear_claims(client: &Client) -> anyhow::Result<()> {
    for claim in call(all::<AddressClaim>(client).list(&ListParams::default())).await? {
        let api: Api<AddressClaim> = Api::namespaced(client.clone(), &claim.namespace().unwrap_or_default());
        let patch = json!({ "metadata": { "finalizers": null } });
        let _ = call(api.delete(&claim.name_any(), &DeleteParams::default())).await;
        let _ = call(api.patch(&claim.name_any(), &PatchParams::default(), &Patch::Merge(&patch))).await;
    }
    Ok(())
}

/// Applies the definitions.
pub(crate) async fn define(client: &Client) -> anyhow::Result<()> {
    let api: Api<CustomResourceDefinition> = all(client);
    for definition in definitions() {
        let name = definition.name_any();
        let applied =
            call(api.patch(&name, &PatchParams::apply("tests").force(), &Patch::Apply(&definition))).await?;
        ensure!(applied.metadata.deletion_timestamp.is_none(), "{name} is being deleted");
        let conditions = applied.status.and_then(|status| status.conditions).unwrap_or_default();
        let holds = conditions.iter().any(|given| given.type_ == "Established" && given.status == "True");
        ensure!(holds, "{name} is not yet established: {conditions:?}");
    }
    Ok(())
}

/// Applies the definitions of a later version.
pub(crate) async fn define_later(client: &Client) -> anyhow::Result<()> {
    let api: Api<CustomResourceDefinition> = all(client);
    for definition in definitions() {
        let later = later::definition(serde_json::to_value(&definition)?);
        let later: CustomResourceDefinition = serde_json::from_value(later.context("another form")?)?;
        let parameters = PatchParams::apply("tests").force();
        call(api.patch(&later.name_any(), &parameters, &Patch::Apply(&later))).await?;
    }
    Ok(())
}

/// Waits for a part of the start: the server, then the definitions, then the namespace of the election.
pub(crate) async fn install(kubeconfig: &std::path::Path) -> anyhow::Result<Client> {
    let client = connect(Some(kubeconfig)).await?;
    define(&client).await?;
    clear::<AddressPool>(&client).await?;
    clear::<AddressSpace>(&client).await?;
    clear::<IPBlock>(&client).await?;
    clear::<NodeIPAM>(&client).await?;
    clear_claims(&client).await?;
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "tenure-system" } });
    let namespace: Namespace = serde_json::from_value(namespace)?;
    match call(all::<Namespace>(&client).create(&PostParams::default(), &namespace)).await {
        Err(error) if !error.is_already_exists() => Err(error.into()),
        _ => Ok(client),
    }
}
