//! A real API server behind a proxy, and pods in it that are bound to one node.

use anyhow::Context;
use serde_json::{Value, json};
use tenure_e2e::ApiServer;
use tenure_e2e::api_server::PODS;

/// The node.
pub(crate) const NODE: &str = "witnessed";

const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

/// The API server. It ends with the value.
pub(crate) struct Cluster {
    pub(crate) server: ApiServer,
}

impl Cluster {
    /// Starts it, and waits until pods can be made.
    pub(crate) fn start() -> anyhow::Result<Self> {
        Ok(Self { server: ApiServer::start()? })
    }

    /// Makes a pod that is bound to the node; returns its uid.
    pub(crate) fn create(&self, name: &str) -> anyhow::Result<String> {
        let spec = json!({ "nodeName": NODE, "containers": [{ "name": "main", "image": "none" }] });
        let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": spec });
        let made = self.server.create(PODS, &pod)?;
        made.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned).context("no uid")
    }

    /// Deletes a pod by force: its object is gone at once.
    pub(crate) fn delete(&self, name: &str) -> anyhow::Result<()> {
        self.server.ask(&format!("DELETE {PODS}/{name}"), &json!({ "gracePeriodSeconds": 0 })).map(drop)
    }

    /// Says that all containers of a pod have ended well.
    pub(crate) fn succeed(&self, name: &str) -> anyhow::Result<()> {
        let status = json!({ "status": { "phase": "Succeeded" } });
        self.server.ask(&format!("PATCH {PODS}/{name}/status"), &status).map(drop)
    }

    /// Whether a pod has an event with this reason.
    pub(crate) fn has_event(&self, pod: &str, reason: &str) -> anyhow::Result<bool> {
        let which = format!("regarding.name={pod},reason={reason}");
        let events = self.server.ask(&format!("GET {EVENTS}?fieldSelector={which}"), &Value::Null)?;
        Ok(events.contains(reason))
    }
}
