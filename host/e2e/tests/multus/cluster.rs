//! A real API server with definitions of networks, and pods that name them.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};
use tenure_e2e::ApiServer;
use tenure_e2e::api_server::{DEFINITIONS, PODS};
use tenure_fixtures::control_plane::ADMIN_TOKEN;

const NETWORKS: &str = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions";

/// The annotation with a pod's networks, and the one with what became of them.
const ANNOTATION: &str = "k8s.v1.cni.cncf.io/networks";
const STATUS: &str = "/metadata/annotations/k8s.v1.cni.cncf.io~1network-status";

/// The API server. It ends with the value.
pub(crate) struct Cluster {
    server: ApiServer,
}

impl Cluster {
    /// Starts it, and waits until pods and networks can be made.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let cluster = Self { server: ApiServer::start()? };
        cluster.server.create(DEFINITIONS, &definitions_kind())?;
        Ok(cluster)
    }

    /// The API server's port on the loopback device.
    pub(crate) fn port(&self) -> anyhow::Result<u16> {
        let url = self.server.plane.url();
        url.rsplit(':').next().and_then(|port| port.parse().ok()).context(url.clone())
    }

    /// The kubeconfig of Multus, whose client sends no token without TLS.
    pub(crate) fn kubeconfig(&self) -> anyhow::Result<PathBuf> {
        self.server.plane.kubeconfig(ADMIN_TOKEN)
    }

    /// Makes or replaces a definition.
    pub(crate) fn define(&self, name: &str, config: &Value) -> anyhow::Result<()> {
        let definition = json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "metadata": { "name": name },
            "spec": { "config": config.to_string() },
        });
        let change = self.server.send(&format!("PATCH {NETWORKS}/{name}"), &definition.to_string())?;
        if change.status == 200 { Ok(()) } else { self.server.create(NETWORKS, &definition).map(drop) }
    }

    /// Deletes a definition.
    pub(crate) fn delete_definition(&self, name: &str) -> anyhow::Result<()> {
        self.server.ask(&format!("DELETE {NETWORKS}/{name}"), &Value::Null).map(drop)
    }

    /// Makes a pod with networks; returns its uid.
    pub(crate) fn create(&self, name: &str, networks: &Value) -> anyhow::Result<String> {
        let metadata = json!({ "name": name, "annotations": { ANNOTATION: networks.to_string() } });
        let spec = json!({ "nodeName": "node", "containers": [{ "name": "main", "image": "none" }] });
        let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec });
        let made = self.server.create(PODS, &pod)?;
        made.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned).context("no uid")
    }

    /// The annotation in which Multus lists a pod's networks and their addresses.
    pub(crate) fn status(&self, name: &str) -> anyhow::Result<String> {
        let pod: Value =
            serde_json::from_str(&self.server.ask(&format!("GET {PODS}/{name}"), &Value::Null)?)?;
        pod.pointer(STATUS).and_then(Value::as_str).map(str::to_owned).context("no status of the networks")
    }
}

/// The kind of the definitions, as Multus ships it.
fn definitions_kind() -> Value {
    let properties =
        json!({ "spec": { "type": "object", "properties": { "config": { "type": "string" } } } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": properties } });
    let names = json!({
        "plural": "network-attachment-definitions", "singular": "network-attachment-definition",
        "kind": "NetworkAttachmentDefinition",
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "network-attachment-definitions.k8s.cni.cncf.io" },
        "spec": {
            "group": "k8s.cni.cncf.io", "scope": "Namespaced", "names": names,
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    })
}
