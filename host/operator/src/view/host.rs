//! A Node, as far as the operator reads it: a kubelet's Node lists images, addresses and capacities besides, and there are thousands of Nodes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, NodeCondition, Taint};
use kube::Resource;
use kube::api::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A Node's identity, labels, taints and conditions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Resource)]
#[resource(inherit = "Node")]
pub struct WatchedNode {
    /// The metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The part of the spec.
    #[serde(default)]
    pub spec: WatchedNodeSpec,
    /// The part of the status.
    #[serde(default)]
    pub status: WatchedNodeStatus,
}

/// The part of a Node's spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchedNodeSpec {
    /// The taints.
    #[serde(default)]
    pub taints: Vec<Taint>,
}

/// The part of a Node's status.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchedNodeStatus {
    /// The machine; `None` before the kubelet has said so.
    #[serde(default)]
    pub node_info: Option<MachineInfo>,
    /// The conditions.
    #[serde(default)]
    pub conditions: Vec<NodeCondition>,
}

/// The ids by which a machine and its boot are told from others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineInfo {
    /// The machine id.
    #[serde(rename = "machineID", default)]
    pub machine_id: String,
    /// The system UUID.
    #[serde(rename = "systemUUID", default)]
    pub system_uuid: String,
    /// The boot id.
    #[serde(rename = "bootID", default)]
    pub boot_id: String,
    /// The operating system; empty before the kubelet has said so.
    #[serde(rename = "operatingSystem", default)]
    pub operating_system: String,
}

impl WatchedNode {
    /// The labels.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        self.metadata.labels.as_ref().unwrap_or(&NONE)
    }

    /// Forgets what the operator does not read of a Node that a watch keeps.
    pub(super) fn shrink(&mut self) {
        self.status.conditions.retain(|condition| condition.type_ == "Ready");
        if let Some(annotations) = &mut self.metadata.annotations {
            annotations.retain(|name, _| name == tenure_cluster::FENCED_ANNOTATION);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kubelets_node_is_read_without_its_images() {
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": "n1", "labels": { "zone": "a" }, "annotations": { "other": "x", "ipam.tenure.dev/fenced": "u" } },
            "spec": { "podCIDR": "10.0.0.0/24", "taints": [{ "key": "k", "effect": "NoSchedule" }] },
            "status": {
                "images": [{ "names": ["big"], "sizeBytes": 1 }],
                "nodeInfo": { "machineID": "m", "systemUUID": "s", "bootID": "b", "kernelVersion": "6" },
                "conditions": [{ "type": "Ready", "status": "True" }, { "type": "DiskPressure", "status": "False" }],
            },
        });
        let mut node: WatchedNode = serde_json::from_value(node).unwrap();
        node.shrink();
        assert_eq!(node.labels()["zone"], "a");
        assert_eq!(node.spec.taints[0].key, "k");
        assert_eq!(node.status.node_info.as_ref().unwrap().boot_id, "b");
        assert_eq!((node.status.conditions.len(), node.metadata.annotations.unwrap().len()), (1, 1));
        // A Node that nobody has written a status of.
        let bare: WatchedNode = serde_json::from_value(json!({ "metadata": { "name": "n2" } })).unwrap();
        assert!(bare.status.node_info.is_none() && bare.labels().is_empty());
    }
}
