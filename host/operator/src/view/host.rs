//! A Node, as far as the operator reads it: a kubelet's Node lists images, addresses and capacities besides, and there are thousands of Nodes.

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::view::{FromObject as _, HostView};

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
        let node: WatchedNode = serde_json::from_value(node).unwrap();
        assert_eq!(node.status.node_info.as_ref().unwrap().boot_id, "b");
        let host = HostView::from_object(node).unwrap();
        assert_eq!((host.labels.get("zone"), host.taints[0].key.as_str()), (Some("a"), "k"));
        // A Node that nobody has written a status of.
        let bare: WatchedNode = serde_json::from_value(json!({ "metadata": { "name": "n2" } })).unwrap();
        assert!(bare.status.node_info.is_none());
        let host = HostView::from_object(bare).unwrap();
        assert!(host.evidence.is_none() && host.may_have_agent && host.labels == Default::default());
    }
}
