//! The pods of a node, as a witness of addresses.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_cluster::pods::PodPresence::{Absent, Present, Unknown};
use tenure_cluster::pods::{ObjectLabels, PodEvent, PodWatch, PodsOfNode, pod_events};
use tenure_types::PodIdentity;
use tokio::time::timeout;

use crate::Test;
use crate::cluster::Cluster;

pub(crate) const TESTS: &[Test] = &[
    ("pods::a_deleted_pod_is_absent_and_those_of_other_nodes_are_not_watched", deleted),
    ("pods::a_pod_that_was_made_again_is_another_one", made_again),
    ("pods::a_pod_that_has_finished_is_absent", finished),
    ("pods::who_may_not_read_pods_knows_nothing_and_frees_nothing", forbidden),
    ("pods::labels_come_from_the_watch_and_else_from_one_read", labels),
    ("pods::an_event_on_a_pod_says_what_became_of_its_address", event),
];

/// The longest that a busy machine may take for what follows at once.
const LIMIT: Duration = Duration::from_secs(60);

/// A pod bound to a node without a kubelet: it stays as it was made.
async fn create(pods: &Api<Pod>, name: &str, node: &str) -> anyhow::Result<PodIdentity> {
    let container = json!({ "name": "main", "image": "none" });
    let spec = json!({ "nodeName": node, "containers": [container], "terminationGracePeriodSeconds": 0 });
    let pod = serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec }))?;
    let made = call(pods.create(&PostParams::default(), &pod)).await?;
    let uid = made.metadata.uid.context("no uid")?;
    Ok(PodIdentity { namespace: "default".into(), name: name.into(), uid: uid.into() })
}

async fn delete(pods: &Api<Pod>, pod: &PodIdentity) -> anyhow::Result<()> {
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    call(pods.delete(&pod.name, &now)).await?;
    Ok(())
}

/// A test with the pods of a node under watch.
fn watched<F: Future<Output = anyhow::Result<()>>>(
    cluster: &Cluster,
    node: &str,
    test: impl FnOnce(Api<Pod>, Arc<PodsOfNode>) -> F,
) -> anyhow::Result<()> {
    cluster.runtime.block_on(async {
        let client = cluster.client.clone();
        let witness = Arc::new(PodsOfNode::new(client.clone()));
        let mut watch = PodWatch::new(client.clone(), node, Arc::clone(&witness));
        tokio::select! {
            () = watch.follow() => anyhow::bail!("the watch has ended"),
            ended = test(Api::default_namespaced(client), witness) => ended,
        }
    })
}

/// Waits until the witness gives a verdict about a pod.
async fn becomes(
    witness: &PodsOfNode,
    pod: &PodIdentity,
    expected: tenure_cluster::pods::PodPresence,
) -> anyhow::Result<()> {
    timeout(LIMIT, async {
        while witness.look_for(&[pod]).await != [expected] {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .with_context(|| format!("{pod:?} does not become {expected:?}"))
}

/// Waits until the watch has a pod. Before its event, a question may already have found it.
async fn is_watched(witness: &PodsOfNode, pod: &PodIdentity) -> anyhow::Result<()> {
    timeout(LIMIT, async {
        while witness.look_for(&[pod]).await != [Present] || witness.figures().missing != 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .with_context(|| format!("the watch lacks {pod:?}: {:?}", witness.figures()))
}

fn deleted(cluster: &Cluster) -> anyhow::Result<()> {
    watched(cluster, "node-deleted", async |pods, witness| {
        let unknown = PodIdentity { namespace: "default".into(), name: "x".into(), uid: "1-2".into() };
        ensure!(witness.look_for(&[&unknown]).await == [Unknown], "nothing is known before the first list");
        timeout(LIMIT, witness.changed()).await.context("the first list")?;
        let (ours, theirs) =
            (create(&pods, "ours", "node-deleted").await?, create(&pods, "theirs", "node-else").await?);
        is_watched(&witness, &ours).await?;
        ensure!(witness.look_for(&[&theirs, &ours]).await == [Present, Present], "one by a question");
        ensure!(witness.figures().missing == 1, "only ours is watched");
        delete(&pods, &ours).await?;
        timeout(LIMIT, witness.changed()).await.context("the deletion")?;
        becomes(&witness, &ours, Absent).await?;
        ensure!(witness.confirm(&ours).await == Absent && witness.confirm(&theirs).await == Present);
        Ok(())
    })
}

fn made_again(cluster: &Cluster) -> anyhow::Result<()> {
    watched(cluster, "node-again", async |pods, witness| {
        let first = create(&pods, "again", "node-again").await?;
        becomes(&witness, &first, Present).await?;
        delete(&pods, &first).await?;
        let second = create(&pods, "again", "node-again").await?;
        becomes(&witness, &second, Present).await?;
        becomes(&witness, &first, Absent).await
    })
}

fn finished(cluster: &Cluster) -> anyhow::Result<()> {
    watched(cluster, "node-finished", async |pods, witness| {
        let pod = create(&pods, "finished", "node-finished").await?;
        is_watched(&witness, &pod).await?;
        let status = json!({ "status": { "phase": "Succeeded" } });
        let patch = PatchParams::default();
        call(pods.patch_status(&pod.name, &patch, &Patch::<Value>::Merge(status))).await?;
        becomes(&witness, &pod, Absent).await?;
        ensure!(witness.confirm(&pod).await == Absent, "no container of it will start again");
        Ok(())
    })
}

fn forbidden(cluster: &Cluster) -> anyhow::Result<()> {
    let stranger = cluster.stranger()?;
    cluster.runtime.block_on(async {
        let witness = Arc::new(PodsOfNode::new(stranger.clone()));
        let mut watch = PodWatch::new(stranger, "node-else", Arc::clone(&witness));
        let gone = PodIdentity { namespace: "default".into(), name: "gone".into(), uid: "1-2".into() };
        let asked = async {
            while witness.figures().interruptions == 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            (witness.look_for(&[&gone]).await, witness.confirm(&gone).await)
        };
        tokio::select! {
            () = watch.follow() => anyhow::bail!("the watch has ended"),
            answered = timeout(LIMIT, asked) => ensure!(answered? == (vec![Unknown], Unknown)),
        }
        Ok(())
    })
}

fn labels(cluster: &Cluster) -> anyhow::Result<()> {
    watched(cluster, "node-labels", async |pods, witness| {
        let (ours, theirs) =
            (create(&pods, "labelled", "node-labels").await?, create(&pods, "elsewhere", "node-else").await?);
        becomes(&witness, &ours, Present).await?;
        let label = json!({ "metadata": { "labels": { "tier": "gold" }, "annotations": { "long": "x".repeat(513) } } });
        for pod in [&ours, &theirs] {
            let patch = PatchParams::default();
            call(pods.patch_metadata(&pod.name, &patch, &Patch::Merge(&label))).await?;
        }
        let is_gold = |labels: &ObjectLabels| labels.labels.get("tier").is_some_and(|tier| tier == "gold");
        timeout(LIMIT, async {
            while !is_gold(&*witness.labels(&ours).await?) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            anyhow::Ok(())
        })
        .await??;
        let read = witness.labels(&theirs).await?;
        ensure!(
            is_gold(&read) && read.annotations.is_empty(),
            "one that is not watched, by a read: {read:?}"
        );
        let replaced = PodIdentity { uid: "1-2".into(), ..ours.clone() };
        let refused = witness.labels(&replaced).await.err().map(|error| error.to_string());
        ensure!(refused.as_deref() == Some("the API server has another pod of this name"), "{refused:?}");
        delete(&pods, &theirs).await?;
        ensure!(witness.labels(&theirs).await.is_err());
        let namespace = witness.namespace_labels("default").await?;
        ensure!(namespace.labels.get("kubernetes.io/metadata.name").is_some_and(|name| name == "default"));
        ensure!(witness.namespace_labels("nowhere").await.is_err());
        Ok(())
    })
}

fn event(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.runtime.block_on(async {
        let (events, mut writer) = pod_events(cluster.client.clone(), "node-event");
        let pod = |namespace: &str| PodIdentity {
            namespace: namespace.into(),
            name: "reclaimed".into(),
            uid: "1-2".into(),
        };
        for namespace in ["no-such-namespace", "default"] {
            let note = "10.64.0.2 was freed: the pod is gone".to_owned();
            events.send(PodEvent {
                pod: pod(namespace),
                action: "Reclaim",
                reason: "AddressReclaimed",
                note,
            });
        }
        let of_pod = ListParams::default().fields("regarding.name=reclaimed");
        let written: Api<Event> = Api::default_namespaced(cluster.client.clone());
        let found = async {
            loop {
                let found = call(written.list(&of_pod)).await?.items;
                if let Some(event) = found.into_iter().next() {
                    return anyhow::Ok(event);
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let event = tokio::select! {
            () = writer.write() => anyhow::bail!("the writer has ended"),
            found = timeout(LIMIT, found) => found??,
        };
        ensure!(event.reason.as_deref() == Some("AddressReclaimed"), "{event:?}");
        ensure!(event.regarding.and_then(|of| of.uid).as_deref() == Some("1-2"));
        ensure!(events.lost() == 1, "one had no namespace, and is counted");
        Ok(())
    })
}
