//! The definitions themselves.

use anyhow::ensure;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use tenure_cluster::client::call;
use tenure_cluster::definitions::definitions;

use crate::Test;
use crate::cluster::Cluster;

pub(crate) const TESTS: &[Test] = &[("definitions::the_schemas_are_structural_and_served", structural)];

fn structural(cluster: &Cluster) -> anyhow::Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    for definition in definitions() {
        let name = definition.metadata.name.clone().unwrap_or_default();
        let stored = cluster.runtime.block_on(call(api.get(&name)))?;
        let status = stored.status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let complaint = conditions.iter().find(|condition| condition.type_ == "NonStructuralSchema");
        ensure!(complaint.is_none(), "{name}: {complaint:?}");
        let names = status.accepted_names.unwrap_or_default();
        ensure!(names.categories == Some(vec!["tenure".to_owned()]), "{name}: {:?}", names.categories);
        ensure!(names.short_names == definition.spec.names.short_names, "{name}: {:?}", names.short_names);
    }
    Ok(())
}
