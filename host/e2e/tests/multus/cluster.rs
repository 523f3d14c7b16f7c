//! A real API server with definitions of networks, and pods that name them.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{request, wait};
use tenure_fixtures::control_plane::proxy::FaultProxy;
use tenure_fixtures::control_plane::{ADMIN_TOKEN, ControlPlane};

use crate::LIMIT;

const KINDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const NETWORKS: &str = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// The annotation with a pod's networks, and the one with what became of them.
const ANNOTATION: &str = "k8s.v1.cni.cncf.io/networks";
const STATUS: &str = "/metadata/annotations/k8s.v1.cni.cncf.io~1network-status";

/// The API server. It ends with the value.
pub(crate) struct Cluster {
    plane: ControlPlane,
    /// The way of the test itself, without TLS.
    proxy: FaultProxy,
}

impl Cluster {
    /// Starts it, and waits until pods and networks can be made.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let mut plane = ControlPlane::start()?;
        let proxy = wait::until("the API server's certificate", LIMIT, || {
            plane.check()?;
            Ok(plane.proxy().ok())
        })?;
        let cluster = Self { plane, proxy };
        wait::holds("the API server", LIMIT, || {
            let namespace = cluster.send("GET /api/v1/namespaces/default", "");
            Ok(namespace.is_ok_and(|answer| answer.status == 200))
        })?;
        cluster.make(KINDS, &definitions_kind())?;
        Ok(cluster)
    }

    /// Its port on the loopback device.
    pub(crate) fn port(&self) -> anyhow::Result<u16> {
        let url = self.plane.url();
        url.rsplit(':').next().and_then(|port| port.parse().ok()).context(url.clone())
    }

    /// The kubeconfig of Multus, whose client sends no token without TLS.
    pub(crate) fn kubeconfig(&self) -> anyhow::Result<PathBuf> {
        self.plane.kubeconfig(ADMIN_TOKEN)
    }

    /// Makes or replaces a definition.
    pub(crate) fn define(&self, name: &str, config: &Value) -> anyhow::Result<()> {
        let definition = json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "metadata": { "name": name },
            "spec": { "config": config.to_string() },
        });
        let change = self.send(&format!("PATCH {NETWORKS}/{name}"), &definition.to_string())?;
        if change.status == 200 { Ok(()) } else { self.make(NETWORKS, &definition).map(drop) }
    }

    /// Deletes a definition.
    pub(crate) fn delete_definition(&self, name: &str) -> anyhow::Result<()> {
        let answer = self.send(&format!("DELETE {NETWORKS}/{name}"), "")?;
        ensure!(answer.status == 200, "{answer:?}");
        Ok(())
    }

    /// Makes a pod with networks; returns its uid.
    pub(crate) fn create(&self, name: &str, networks: &Value) -> anyhow::Result<String> {
        let metadata = json!({ "name": name, "annotations": { ANNOTATION: networks.to_string() } });
        let spec = json!({ "nodeName": "node", "containers": [{ "name": "main", "image": "none" }] });
        let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec });
        let made = self.make(PODS, &pod)?;
        made.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned).context("no uid")
    }

    /// What Multus has said of a pod's networks.
    pub(crate) fn status(&self, name: &str) -> anyhow::Result<String> {
        let answer = self.send(&format!("GET {PODS}/{name}"), "")?;
        let pod: Value = serde_json::from_str(&answer.body)?;
        pod.pointer(STATUS).and_then(Value::as_str).map(str::to_owned).context("no status of the networks")
    }

    /// Makes an object; the API server learns of a kind a moment after it was made.
    fn make(&self, to: &str, object: &Value) -> anyhow::Result<Value> {
        wait::until(to, LIMIT, || {
            let made = self.send(&format!("POST {to}"), &object.to_string())?;
            Ok(if made.status == 201 { Some(serde_json::from_str(&made.body)?) } else { None })
        })
    }

    fn send(&self, what: &str, body: &str) -> anyhow::Result<request::Answer> {
        let kind = if what.starts_with("PATCH") { "merge-patch+json" } else { "json" };
        let head =
            [format!("Authorization: Bearer {ADMIN_TOKEN}"), format!("Content-Type: application/{kind}")];
        let at = format!("127.0.0.1:{}", self.proxy.port());
        request::ask(Path::new("/proc/self/ns/net"), &at, what, &head, body)
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
