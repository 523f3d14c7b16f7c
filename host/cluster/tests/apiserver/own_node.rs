//! A machine's own Node and its ENIConfig, as its daemon follows them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tenure_cluster::client::{ApiCallError, call};
use tenure_cluster::own_node::{EniConfigKeys, EniConfigSight, OwnNodeSight, OwnNodeWatch};
use tenure_cluster::{ENIConfig, ENIConfigSpec};
use tenure_fixtures::control_plane::{eni_configs, kubelets_node};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::Test;
use crate::cluster::Cluster;

pub(crate) const TESTS: &[Test] = &[
    ("own_node::labels_taints_and_capacity_are_followed_and_a_deletion_changes_nothing", followed),
    ("own_node::the_eni_config_that_the_node_names_is_followed", eni_config),
    ("own_node::who_may_not_read_nodes_knows_nothing_and_says_why", forbidden),
    ("own_node::a_taint_is_removed_from_the_node_that_was_read_and_from_no_newer_one", taint),
];

/// The longest that a busy machine may take for what follows at once.
const LIMIT: Duration = Duration::from_secs(60);

/// A test with a Node under watch.
fn watched<F: Future<Output = anyhow::Result<()>>>(
    cluster: &Cluster,
    client: Client,
    node: &str,
    keys: Option<EniConfigKeys>,
    test: impl FnOnce(Arc<OwnNodeWatch>, watch::Receiver<OwnNodeSight>) -> F,
) -> anyhow::Result<()> {
    cluster.runtime.block_on(async {
        let watched = Arc::new(OwnNodeWatch::new(client, node));
        let (_keys, wanted) = watch::channel(keys);
        let sight = watched.sight();
        tokio::select! {
            () = watched.follow(wanted) => anyhow::bail!("the watch has ended"),
            ended = test(Arc::clone(&watched), sight) => ended,
        }
    })
}

/// Waits until a sight is as expected.
async fn becomes(
    sight: &mut watch::Receiver<OwnNodeSight>,
    what: &str,
    is_it: impl FnMut(&OwnNodeSight) -> bool,
) -> anyhow::Result<OwnNodeSight> {
    let seen = timeout(LIMIT, sight.wait_for(is_it)).await.map(|seen| seen.map(|seen| seen.clone()));
    seen.with_context(|| format!("not seen: {what}, but {:?}", *sight.borrow()))?
        .context("the watch has ended")
}

async fn create(nodes: &Api<Node>, name: &str) -> anyhow::Result<()> {
    let node = kubelets_node(name, name, "00000000-0000-4000-8000-000000000001");
    call(nodes.create(&PostParams::default(), &serde_json::from_value(node)?)).await?;
    Ok(())
}

async fn change(nodes: &Api<Node>, name: &str, patch: Value) -> anyhow::Result<()> {
    call(nodes.patch(name, &PatchParams::default(), &Patch::Merge(patch))).await?;
    Ok(())
}

fn followed(cluster: &Cluster) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(cluster.client.clone());
    watched(cluster, cluster.client.clone(), "own-followed", None, async move |_, mut sight| {
        let absent = becomes(&mut sight, "no Node", |sight| sight.trouble.is_some()).await?;
        let words = "there is no Node own-followed; is `node.name` the name in the cluster?";
        ensure!(absent.trouble.as_deref() == Some(words) && absent.node.is_none(), "{absent:?}");
        create(&nodes, "own-followed").await?;
        let is_read = |sight: &OwnNodeSight| sight.node.is_some() && sight.trouble.is_none();
        let node = becomes(&mut sight, "the Node", is_read).await?.node.context("no Node")?;
        ensure!(node.is_schedulable() && !node.is_terminating() && node.most_pods().is_none(), "{node:?}");

        let status = json!({ "status": { "allocatable": { "pods": "29" }, "capacity": { "pods": "110" } } });
        let parameters = PatchParams::default();
        call(nodes.patch_status("own-followed", &parameters, &Patch::Merge(status))).await?;
        let labels =
            json!({ "metadata": { "labels": { "pool": "batch" } }, "spec": { "unschedulable": true } });
        change(&nodes, "own-followed", labels).await?;
        let is_cordoned = |sight: &OwnNodeSight| {
            let node = sight.node.as_ref();
            node.is_some_and(|node| !node.is_schedulable() && node.most_pods() == Some(29))
        };
        let node = becomes(&mut sight, "the cordon", is_cordoned).await?.node.context("no Node")?;
        ensure!(node.labels().get("pool").is_some_and(|pool| pool == "batch"), "{node:?}");

        // Karpenter's finalizer, for one, keeps a Node until its machine is gone.
        change(&nodes, "own-followed", json!({ "metadata": { "finalizers": ["tests/kept"] } })).await?;
        call(nodes.delete("own-followed", &DeleteParams::default())).await?;
        let ends = |sight: &OwnNodeSight| sight.node.as_ref().is_some_and(|node| node.is_terminating());
        becomes(&mut sight, "the deletion", ends).await?;
        change(&nodes, "own-followed", json!({ "metadata": { "finalizers": null } })).await?;
        let gone = becomes(&mut sight, "the end", |sight| sight.trouble.is_some()).await?;
        ensure!(gone.trouble.as_deref() == Some(words), "{gone:?}");
        ensure!(gone.node.is_some_and(|node| node.most_pods() == Some(29)), "what was read last stays");
        Ok(())
    })
}

fn eni_config(cluster: &Cluster) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(cluster.client.clone());
    let configs: Api<ENIConfig> = Api::all(cluster.client.clone());
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    let keys = EniConfigKeys { annotation: "tests/config".to_owned(), label: "zone".to_owned() };
    watched(cluster, cluster.client.clone(), "own-config", Some(keys), async move |_, mut sight| {
        create(&nodes, "own-config").await?;
        // A cluster without the definition.
        let is_refused = |sight: &OwnNodeSight| {
            sight.trouble.as_ref().is_some_and(|words| words.starts_with("cannot read ENIConfig default: "))
        };
        let unread = becomes(&mut sight, "no definition", is_refused).await?;
        ensure!(unread.eni_config == EniConfigSight::Unread("default".to_owned()));
        let definition = serde_json::from_value(eni_configs::definition())?;
        call(definitions.create(&PostParams::default(), &definition)).await?;
        let is_absent = |name: &'static str| {
            move |sight: &OwnNodeSight| sight.eni_config == EniConfigSight::Absent(name.to_owned())
        };
        let absent = becomes(&mut sight, "no ENIConfig", is_absent("default")).await?;
        let words = "there is no ENIConfig default, so no interface is created";
        ensure!(absent.trouble.as_deref() == Some(words), "{absent:?}");

        change(&nodes, "own-config", json!({ "metadata": { "labels": { "zone": "eu-1a" } } })).await?;
        becomes(&mut sight, "another name", is_absent("eu-1a")).await?;
        let groups = Some(vec!["sg-1".to_owned()]);
        let spec = ENIConfigSpec { subnet: Some("subnet-1".to_owned()), security_groups: groups };
        call(configs.create(&PostParams::default(), &ENIConfig::new("eu-1a", spec))).await?;
        let is_read = |groups: &'static [&str]| {
            move |sight: &OwnNodeSight| {
                let groups = groups.iter().map(|group| (*group).to_owned()).collect();
                let (name, subnet) = ("eu-1a".to_owned(), "subnet-1".to_owned());
                sight.eni_config == EniConfigSight::Read { name, subnet, groups } && sight.trouble.is_none()
            }
        };
        becomes(&mut sight, "the ENIConfig", is_read(&["sg-1"])).await?;
        let none = json!({ "spec": { "securityGroups": null } });
        call(configs.patch("eu-1a", &PatchParams::default(), &Patch::Merge(none))).await?;
        becomes(&mut sight, "no groups", is_read(&[])).await?;

        // An annotation counts before the label.
        let annotated = json!({ "metadata": { "annotations": { "tests/config": "other" } } });
        change(&nodes, "own-config", annotated).await?;
        becomes(&mut sight, "the annotation's", is_absent("other")).await?;
        change(&nodes, "own-config", json!({ "metadata": { "annotations": { "tests/config": null } } }))
            .await?;
        becomes(&mut sight, "the label's again", is_read(&[])).await?;
        let empty = json!({ "spec": { "subnet": null } });
        call(configs.patch("eu-1a", &PatchParams::default(), &Patch::Merge(empty))).await?;
        let words = "ENIConfig eu-1a names no subnet, so no interface is created";
        becomes(&mut sight, "no subnet", |sight| sight.trouble.as_deref() == Some(words)).await?;
        call(configs.delete("eu-1a", &DeleteParams::default())).await?;
        becomes(&mut sight, "its end", |sight| {
            sight.trouble.as_ref().is_some_and(|words| words.starts_with("there is no ENIConfig eu-1a"))
        })
        .await?;
        Ok(())
    })
}

fn forbidden(cluster: &Cluster) -> anyhow::Result<()> {
    watched(cluster, cluster.stranger()?, "own-forbidden", None, async |_, mut sight| {
        let refused = becomes(&mut sight, "a refusal", |sight| sight.trouble.is_some()).await?;
        let words = refused.trouble.unwrap_or_default();
        ensure!(words.starts_with("cannot read Node own-forbidden: ") && refused.node.is_none(), "{words}");
        Ok(())
    })
}

fn taint(cluster: &Cluster) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(cluster.client.clone());
    watched(cluster, cluster.client.clone(), "own-taint", None, async move |watched, mut sight| {
        create(&nodes, "own-taint").await?;
        let taints = json!([
            { "key": "tests/not-ready", "effect": "NoSchedule" },
            { "key": "dedicated", "value": "batch", "effect": "NoSchedule" },
        ]);
        change(&nodes, "own-taint", json!({ "spec": { "taints": taints } })).await?;
        let has_taint = |sight: &OwnNodeSight| {
            sight.node.as_ref().is_some_and(|node| node.taints_without("tests/not-ready").is_some())
        };
        let before = becomes(&mut sight, "the taint", has_taint).await?.node.context("no Node")?;
        change(&nodes, "own-taint", json!({ "metadata": { "labels": { "a": "b" } } })).await?;
        let refused = watched.remove_taint(&before, "tests/not-ready").await;
        ensure!(refused.as_ref().is_err_and(ApiCallError::is_conflict), "{refused:?}");
        let is_newer =
            |sight: &OwnNodeSight| sight.node.as_ref().is_some_and(|node| node.labels().contains_key("a"));
        let now = becomes(&mut sight, "the newer Node", is_newer).await?.node.context("no Node")?;
        watched.remove_taint(&now, "tests/not-ready").await?;
        let left = call(nodes.get("own-taint")).await?.spec.and_then(|spec| spec.taints).unwrap_or_default();
        let left: Vec<&str> = left.iter().map(|taint| taint.key.as_str()).collect();
        ensure!(left == ["dedicated"], "{left:?}");
        Ok(())
    })
}
