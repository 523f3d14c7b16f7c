//! A real API server behind a proxy, and pods in it that are bound to one node.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{request, wait};
use tenure_fixtures::control_plane::proxy::FaultProxy;
use tenure_fixtures::control_plane::{ADMIN_TOKEN, ControlPlane};

use crate::LIMIT;

/// The node.
pub(crate) const NODE: &str = "witnessed";

const PODS: &str = "/api/v1/namespaces/default/pods";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

/// The API server. It ends with the value.
pub(crate) struct Cluster {
    pub(crate) proxy: FaultProxy,
    _plane: ControlPlane,
}

impl Cluster {
    /// Starts it, and waits until pods can be made.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let mut plane = ControlPlane::start()?;
        let proxy = wait::until("the API server's certificate", LIMIT, || {
            plane.check()?;
            Ok(plane.proxy().ok())
        })?;
        let cluster = Self { proxy, _plane: plane };
        wait::holds("the API server", LIMIT, || {
            let namespace = cluster.send("GET /api/v1/namespaces/default", "");
            Ok(namespace.is_ok_and(|answer| answer.status == 200))
        })?;
        Ok(cluster)
    }

    /// The kubeconfig of the daemon, which leads through the proxy.
    pub(crate) fn kubeconfig(&self) -> anyhow::Result<PathBuf> {
        self.proxy.kubeconfig(ADMIN_TOKEN)
    }

    /// Makes a pod that is bound to the node; returns its uid.
    pub(crate) fn create(&self, name: &str) -> anyhow::Result<String> {
        let spec = json!({ "nodeName": NODE, "containers": [{ "name": "main", "image": "none" }] });
        let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": spec });
        let made = self.send(&format!("POST {PODS}"), &pod.to_string())?;
        ensure!(made.status == 201, "{made:?}");
        let made: Value = serde_json::from_str(&made.body)?;
        made.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned).context("no uid")
    }

    /// Deletes a pod by force: its object is gone at once.
    pub(crate) fn delete(&self, name: &str) -> anyhow::Result<()> {
        let now = json!({ "gracePeriodSeconds": 0 }).to_string();
        let answer = self.send(&format!("DELETE {PODS}/{name}"), &now)?;
        ensure!(answer.status == 200, "{answer:?}");
        Ok(())
    }

    /// Says that all containers of a pod have ended well.
    pub(crate) fn succeed(&self, name: &str) -> anyhow::Result<()> {
        let status = json!({ "status": { "phase": "Succeeded" } }).to_string();
        let answer = self.send(&format!("PATCH {PODS}/{name}/status"), &status)?;
        ensure!(answer.status == 200, "{answer:?}");
        Ok(())
    }

    /// Whether a pod has an event with this reason.
    pub(crate) fn has_event(&self, pod: &str, reason: &str) -> anyhow::Result<bool> {
        let which = format!("regarding.name={pod},reason={reason}");
        let answer = self.send(&format!("GET {EVENTS}?fieldSelector={which}"), "")?;
        ensure!(answer.status == 200, "{answer:?}");
        Ok(answer.body.contains(reason))
    }

    fn send(&self, what: &str, body: &str) -> anyhow::Result<request::Answer> {
        let kind = if what.starts_with("PATCH") { "merge-patch+json" } else { "json" };
        let head =
            [format!("Authorization: Bearer {ADMIN_TOKEN}"), format!("Content-Type: application/{kind}")];
        let to = format!("127.0.0.1:{}", self.proxy.port());
        request::ask(Path::new("/proc/self/ns/net"), &to, what, &head, body)
    }
}
