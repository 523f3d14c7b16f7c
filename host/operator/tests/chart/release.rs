//! The life of a release: an upgrade changes the definitions, a rollback returns, and an uninstallation keeps the objects.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use serde_json::json;

use tenure_fixtures::folder;

use crate::Test;
use crate::cluster::{Cluster, NAMESPACE, RELEASE, chart};

pub(crate) const TESTS: &[Test] = &[
    ("release::definitions_follow_an_upgrade_and_outlive_the_release", life),
    ("release::a_changed_value_restarts_nothing", live),
    ("release::another_reference_restarts_nothing", referred),
    ("release::a_pod_of_before_has_no_configuration_for_another_supply", supplied),
    ("release::its_namespace_outlives_it", namespace),
];

/// The short names of NodeIPAM, by which the versions of the chart differ here.
fn short_names(cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    let definition = cluster.call(api.get("nodeipams.ipam.tenure.dev"))?;
    Ok(definition.spec.names.short_names.unwrap_or_default())
}

/// A version of the chart from before NodeIPAM had its short name.
fn older(folder: &Path) -> anyhow::Result<String> {
    let to = folder.join("older");
    folder::copy(&chart(), &to)?;
    let path = to.join("files/definitions/nodeipams.yaml");
    let text = fs::read_to_string(&path)?;
    let short = "- nipam\n";
    ensure!(text.contains(short), "no short name in {}", path.display());
    fs::write(&path, text.replace(short, "- older\n"))?;
    Ok(to.to_str().context("not text")?.to_owned())
}

fn life(cluster: &Cluster) -> anyhow::Result<()> {
    let (old, new) = (older(cluster.folder.path())?, chart());
    let new = new.to_str().context("not text")?;
    let profile = ["--set", "profile=cluster"];
    let run = |verb: &str, chart: &str| cluster.helm(&[&[verb, RELEASE, chart], &profile[..]].concat());
    let notes = run("install", &old)?;
    ensure!(notes.contains("Create an AddressPool"), "{notes}");
    ensure!(short_names(cluster)? == ["older"]);
    let pool = json!({
        "apiVersion": "ipam.tenure.dev/v1alpha1", "kind": "AddressPool", "metadata": { "name": "kept" },
        "spec": { "ipv4": { "cidrs": ["10.9.0.0/16"], "blockPrefix": 26 } },
    });
    cluster.until("the definition to be served", || {
        Ok(cluster.apply(&cluster.client, &pool, false).ok().map(drop))
    })?;
    run("upgrade", new)?;
    ensure!(short_names(cluster)? == ["nipam"], "the upgrade leaves the definitions as they were");
    cluster.helm(&["rollback", RELEASE, "1"])?;
    ensure!(short_names(cluster)? == ["older"]);
    cluster.helm(&["uninstall", RELEASE])?;
    ensure!(short_names(cluster)? == ["older"], "the definitions went with the release");
    let pools = crate::cluster::dynamic(&cluster.client, &pool);
    ensure!(cluster.call(pools.get_opt("kept"))?.is_some(), "the pool went with the release");
    // The same release takes over what it has left, and another one only if that is asked for.
    run("install", new)?;
    cluster.helm(&["uninstall", RELEASE])?;
    let other = |more: &[&str]| cluster.helm(&[&["install", "other", new][..], &profile[..], more].concat());
    let refused = other(&[]).err().context("another release takes over what is not its own")?;
    ensure!(format!("{refused:#}").contains("invalid ownership metadata"), "{refused:#}");
    other(&["--take-ownership"])?;
    cluster.helm(&["uninstall", "other"])?;
    ensure!(cluster.call(pools.get_opt("kept"))?.is_some(), "the pool went with the release");
    cluster.helm(&[&["install", RELEASE, new, "--take-ownership"], &profile[..]].concat())?;
    ensure!(short_names(cluster)? == ["nipam"]);
    cluster.call(pools.delete("kept", &Default::default()))?;
    Ok(())
}

fn live(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.release()?;
    let daemons: Api<DaemonSet> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let template = || -> anyhow::Result<_> {
        Ok(cluster.call(daemons.get("tenure-agent"))?.spec.context("no spec")?.template)
    };
    let before = template()?;
    let chart = chart();
    let arguments = [
        "upgrade",
        RELEASE,
        chart.to_str().context("not text")?,
        "--reuse-values",
        "--set",
        "policies.mine.module=AGFzbQ==",
        "--set",
        "agent.logLevel=debug",
        "--set",
        "network.chained=null",
    ];
    cluster.helm(&arguments)?;
    let toml = cluster.call(maps.get("tenure-agent"))?.data.unwrap_or_default();
    ensure!(toml["tenured.toml"].contains("[policies.mine]"), "{toml:?}");
    ensure!(!toml["cluster.pods.conflist"].contains("portmap"), "{toml:?}");
    let modules = cluster.call(maps.get("tenure-policies"))?.binary_data.unwrap_or_default();
    ensure!(modules["mine.wasm"].0 == b"\0asm", "{modules:?}");
    ensure!(template()? == before, "the pods are replaced");
    cluster.release()
}

/// The first policy of a registry brings a container to the agents' pods; from then on, its reference is a line of a ConfigMap.
fn referred(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.release()?;
    let daemons: Api<DaemonSet> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let chart = chart();
    let refer = |digit: char| -> anyhow::Result<_> {
        let digest = digit.to_string().repeat(64);
        let value = format!("policies.zones.oci=oci://registry.example.com/team/zones@sha256:{digest}");
        let path = chart.to_str().context("not text")?;
        cluster.helm(&["upgrade", RELEASE, path, "--reuse-values", "--set", &value])?;
        let data = cluster.call(maps.get("tenure-agent"))?.data.unwrap_or_default();
        ensure!(data["references.json"].contains(&digest), "{data:?}");
        Ok(cluster.call(daemons.get("tenure-agent"))?.spec.context("no spec")?.template)
    };
    let first = refer('1')?;
    let containers = first.spec.as_ref().context("no spec")?.containers.iter();
    ensure!(containers.filter(|container| container.name == "policies").count() == 1, "{first:?}");
    ensure!(refer('2')? == first, "the pods are replaced");
    cluster.release()
}

/// A daemon takes another supply or another network over with its restart. Until then, its pod must not put their configuration into place.
fn supplied(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.release()?;
    let daemons: Api<DaemonSet> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    // The file that a pod of the present template installs, and whether there is such a file now.
    let installed = || -> anyhow::Result<String> {
        let pod = cluster.call(daemons.get("tenure-agent"))?.spec.context("no spec")?.template.spec;
        let containers = pod.into_iter().flat_map(|pod| pod.containers);
        let mut arguments = containers.flat_map(|container| container.args.unwrap_or_default());
        let path = arguments.find(|argument| argument.starts_with("--configuration="));
        Ok(path.context("no configuration")?.rsplit('/').next().unwrap_or_default().to_owned())
    };
    let has = |file: &str| -> anyhow::Result<bool> {
        Ok(cluster.call(maps.get("tenure-agent"))?.data.unwrap_or_default().contains_key(file))
    };
    let chart = chart();
    for value in ["network.name=other", "profile=single-node", "profile=cluster"] {
        let before = installed()?;
        ensure!(has(&before)?, "{before}");
        let path = chart.to_str().context("not text")?;
        cluster.helm(&["upgrade", RELEASE, path, "--reuse-values", "--set", value])?;
        ensure!(!has(&before)? && has(&installed()?)?, "{value}: {before} is still there");
    }
    cluster.release()
}

fn namespace(cluster: &Cluster) -> anyhow::Result<()> {
    const OWN: &str = "labelled";
    let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
    let chart = chart();
    let helm = |verb: &str, more: &[&str]| {
        let path = chart.to_str().context("not text")?;
        cluster.helm_in(OWN, &[&[verb, OWN, path][..], more].concat())
    };
    let remains = || -> anyhow::Result<bool> {
        Ok(cluster.call(namespaces.get(OWN))?.metadata.deletion_timestamp.is_none())
    };
    helm("install", &["--create-namespace", "--set", "namespace.create=true"])?;
    let labels = cluster.call(namespaces.get(OWN))?.metadata.labels.unwrap_or_default();
    ensure!(labels["pod-security.kubernetes.io/enforce"] == "privileged", "{labels:?}");
    // Helm forgets the value, as always when others are set without --reuse-values.
    helm("upgrade", &["--set", "agent.logLevel=debug"])?;
    ensure!(remains()?, "an upgrade deletes the namespace");
    helm("upgrade", &["--set", "namespace.create=true"])?;
    cluster.helm_in(OWN, &["uninstall", OWN])?;
    ensure!(remains()?, "it goes with the release");
    Ok(())
}
