//! Labels of pods in the API server, as a policy of somebody's own sees them.

use std::path::Path;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_fixtures::node::{Attachment, Daemon};
use tenure_runtime::fake::FakeRuntime;
use tenure_sdk_build::Builder;

use crate::Test;
use crate::pods::delete;
use crate::world::World;

pub(crate) const TESTS: &[Test] =
    &[("labels::a_policy_of_ones_own_chooses_by_the_label_of_a_pod_that_it_was_granted", granted)];

/// The node's name.
const NODE: &str = "tiered";

/// Adds a pod with these labels; returns its address.
fn add(world: &World, daemon: &Daemon, name: &str, labels: &Value) -> anyhow::Result<String> {
    let spec = json!({ "nodeName": NODE, "containers": [{ "name": "main", "image": "none" }] });
    let pod = json!({ "metadata": { "name": name, "labels": labels }, "spec": spec });
    let pod: Pod = serde_json::from_value(pod)?;
    let pods: Api<Pod> = Api::default_namespaced(world.client.clone());
    let made = world.runtime.block_on(call(pods.create(&PostParams::default(), &pod)))?;
    let uid = made.metadata.uid.context("no uid")?;
    let config = json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure" } });
    let arguments = format!(
        "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={name};K8S_POD_UID={uid};K8S_POD_INFRA_CONTAINER_ID={name}"
    );
    let shim = daemon.shim()?.env("CNI_ARGS", &arguments);
    let address = shim.call("ADD", &Attachment::of(name), &config)?.address();
    delete(world, name)?;
    address
}

fn granted(world: &mut World) -> anyhow::Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm");
    let component = Builder::new(workspace, target)?.example("tenure-sdk", "tiers")?;
    let mut daemon = Daemon::prepare()?;
    let path = daemon.path("tiers.wasm");
    std::fs::write(&path, component)?;
    let socket = daemon.path("cri.sock");
    let runtime = world.runtime.block_on(async { FakeRuntime(vec!["golden", "without"]).serve(&socket) });
    daemon.configure(&format!(
        "[node]\nname = \"{NODE}\"\n[cluster]\npods = true\nkubeconfig = \"{}\"\n[runtime]\nsocket = \"{}\"\n\
         [policies.tiers]\npath = \"{}\"\nmetadata = [\"pod.label.tier\"]\n\
         [networks.pods]\nipam = {{ type = \"tenure\", policy = \"tiers\", ranges = [[\
         {{ subnet = \"10.98.1.0/24\", rangeAttributes = {{ tier = \"gold\" }} }}, {{ subnet = \"10.98.2.0/24\" }}]] }}\n",
        world.kubeconfig.display(),
        socket.display(),
        path.display()
    ))?;
    daemon.start_again()?;
    let gold = add(world, &daemon, "golden", &json!({ "tier": "gold" }))?;
    let plain = add(world, &daemon, "without", &json!({ "team": "gold" }))?;
    runtime.abort();
    ensure!(gold.starts_with("10.98.1.") && plain.starts_with("10.98.2."), "{gold} and {plain}");
    Ok(())
}
