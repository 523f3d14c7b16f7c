//! A Node, as far as the daemon of its machine reads it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::Resource;
use kube::api::ObjectMeta;
use serde::{Deserialize, Serialize};

/// The taint of a cordoned Node.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Taints of a machine that is about to end, each with the value that says so, if not every value does: of Cluster Autoscaler, of Karpenter since
/// and before 1.0, and of AWS Node Termination Handler. Those by which the last one says that a machine may restart are not among them.
const ENDING: [(&str, Option<&str>); 5] = [
    ("ToBeDeletedByClusterAutoscaler", None),
    ("karpenter.sh/disrupted", None),
    ("karpenter.sh/disruption", Some("disrupting")),
    ("aws-node-termination-handler/spot-itn", None),
    ("aws-node-termination-handler/asg-lifecycle-termination", None),
];

/// The label that names a Node's ENIConfig before all others, as in the Amazon VPC CNI.
const EXTERNAL_ENI_CONFIG: &str = "vpc.amazonaws.com/externalEniConfig";

/// The ENIConfig of a Node that names none.
const USUAL_ENI_CONFIG: &str = "default";

/// The resource of a machine's pods.
const PODS: &str = "pods";

/// The keys by which Nodes name their ENIConfig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EniConfigKeys {
    /// The annotation, which counts first.
    pub annotation: String,
    /// The label.
    pub label: String,
}

/// A Node: its labels and annotations, its taints, and how many pods it takes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Resource)]
#[resource(inherit = "Node")]
pub struct OwnNode {
    /// The metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The part of the spec.
    #[serde(default)]
    pub spec: OwnNodeSpec,
    /// The part of the status.
    #[serde(default)]
    pub status: OwnNodeStatus,
}

/// The part of the spec.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnNodeSpec {
    /// Whether a person keeps new pods away.
    #[serde(default)]
    pub unschedulable: bool,
    /// The taints.
    #[serde(default)]
    pub taints: Vec<Taint>,
}

/// The part of the status.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnNodeStatus {
    /// The resources for pods.
    #[serde(default)]
    pub allocatable: BTreeMap<String, Quantity>,
    /// All resources.
    #[serde(default)]
    pub capacity: BTreeMap<String, Quantity>,
}

impl OwnNode {
    /// The labels.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.metadata.labels.clone().unwrap_or_default()
    }

    /// Whether the scheduler may place new pods on it: nobody has cordoned it.
    #[must_use]
    pub fn is_schedulable(&self) -> bool {
        !self.spec.unschedulable && !self.spec.taints.iter().any(|taint| taint.key == UNSCHEDULABLE)
    }

    /// Whether its machine is about to end: it is being deleted, or has the taint of a tool that ends machines.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        let is_it = |taint: &Taint| {
            let value = taint.value.as_deref();
            ENDING.iter().any(|(key, says)| taint.key == *key && (says.is_none() || value == *says))
        };
        self.metadata.deletion_timestamp.is_some() || self.spec.taints.iter().any(is_it)
    }

    /// The most pods that it takes, once its kubelet has said so.
    #[must_use]
    pub fn most_pods(&self) -> Option<u32> {
        let pods = |of: &BTreeMap<String, Quantity>| of.get(PODS)?.0.parse().ok();
        pods(&self.status.allocatable).or_else(|| pods(&self.status.capacity)).filter(|most| *most > 0)
    }

    /// The name of its ENIConfig, by the order of the Amazon VPC CNI.
    #[must_use]
    pub fn eni_config(&self, keys: &EniConfigKeys) -> &str {
        let (labels, annotations) = (self.metadata.labels.as_ref(), self.metadata.annotations.as_ref());
        let label = |key: &str| labels?.get(key);
        let annotation = |key: &str| annotations?.get(key);
        let named = label(EXTERNAL_ENI_CONFIG)
            .or_else(|| annotation(&keys.annotation))
            .or_else(|| label(&keys.label));
        named.map_or(USUAL_ENI_CONFIG, String::as_str)
    }

    /// The taints but those of a key; `None` if it has none of that key.
    #[must_use]
    pub fn taints_without(&self, key: &str) -> Option<Vec<Taint>> {
        let taints = &self.spec.taints;
        let others: Vec<Taint> = taints.iter().filter(|taint| taint.key != key).cloned().collect();
        (others.len() < taints.len()).then_some(others)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(metadata: Value, spec: Value, status: Value) -> OwnNode {
        let parts = [("metadata", metadata), ("spec", spec), ("status", status)];
        let node = parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        serde_json::from_value(Value::Object(node)).unwrap()
    }

    fn tainted(key: &str, value: &str) -> OwnNode {
        let taints = json!([{ "key": key, "value": value, "effect": "NoSchedule" }]);
        node(json!({ "name": "n" }), json!({ "taints": taints }), json!({}))
    }

    #[test]
    fn a_node_that_says_nothing_takes_pods_and_lives() {
        let bare: OwnNode = serde_json::from_value(json!({ "metadata": { "name": "n" } })).unwrap();
        assert!(bare.is_schedulable() && !bare.is_terminating());
        assert_eq!((bare.most_pods(), bare.labels().len()), (None, 0));
    }

    #[test]
    fn a_cordoned_node_is_known_by_its_spec_and_by_its_taint() {
        assert!(!node(json!({}), json!({ "unschedulable": true }), json!({})).is_schedulable());
        assert!(!tainted("node.kubernetes.io/unschedulable", "").is_schedulable());
        assert!(tainted("dedicated", "batch").is_schedulable());
    }

    #[test]
    fn a_machine_that_ends_is_known_by_the_deletion_and_by_the_taints_of_the_tools_that_end_it() {
        let deleted =
            json!({ "name": "n", "deletionTimestamp": "2026-01-05T08:00:00Z", "finalizers": ["a/b"] });
        assert!(node(deleted, json!({}), json!({})).is_terminating());
        for (key, value, is_it) in [
            ("ToBeDeletedByClusterAutoscaler", "1735689600", true),
            ("karpenter.sh/disrupted", "", true),
            ("karpenter.sh/disruption", "disrupting", true),
            ("karpenter.sh/disruption", "other", false),
            ("aws-node-termination-handler/spot-itn", "", true),
            ("aws-node-termination-handler/asg-lifecycle-termination", "", true),
            ("aws-node-termination-handler/scheduled-maintenance", "", false),
            ("DeletionCandidateOfClusterAutoscaler", "1", false),
            ("node.kubernetes.io/not-ready", "", false),
        ] {
            assert_eq!(tainted(key, value).is_terminating(), is_it, "{key}={value}");
        }
    }

    #[test]
    fn the_most_pods_are_those_that_may_be_allocated_and_else_the_capacity() {
        let most = |status| node(json!({}), json!({}), status).most_pods();
        assert_eq!(most(json!({ "allocatable": { "pods": "29" }, "capacity": { "pods": "110" } })), Some(29));
        assert_eq!(most(json!({ "capacity": { "cpu": "2", "pods": "17" } })), Some(17));
        assert_eq!(most(json!({ "allocatable": { "pods": "0" } })), None);
        assert_eq!(most(json!({ "allocatable": { "pods": "1k" } })), None);
    }

    #[test]
    fn an_eni_config_is_named_by_one_label_then_the_annotation_then_the_other_label() {
        let keys = EniConfigKeys { annotation: "a/config".to_owned(), label: "zone".to_owned() };
        let name = |labels: Value, annotations: Value| {
            let metadata = json!({ "name": "n", "labels": labels, "annotations": annotations });
            node(metadata, json!({}), json!({})).eni_config(&keys).to_owned()
        };
        let external = "vpc.amazonaws.com/externalEniConfig";
        let both = json!({ "zone": "eu-1a", external: "first" });
        assert_eq!(name(both, json!({ "a/config": "second" })), "first");
        assert_eq!(name(json!({ "zone": "eu-1a" }), json!({ "a/config": "second" })), "second");
        assert_eq!(name(json!({ "zone": "eu-1a" }), json!({ "zone": "not-a-label" })), "eu-1a");
        assert_eq!(name(json!({ "a/config": "no-annotation" }), Value::Null), "default");
    }

    #[test]
    fn a_taint_goes_with_all_its_effects_and_the_others_stay() {
        let taints = json!([{ "key": "a", "effect": "NoSchedule" }, { "key": "b", "effect": "NoSchedule" }, { "key": "a", "effect": "NoExecute" }]);
        let node = node(json!({ "name": "n" }), json!({ "taints": taints }), json!({}));
        let others = node.taints_without("a").unwrap();
        assert_eq!(others.iter().map(|taint| taint.key.as_str()).collect::<Vec<_>>(), ["b"]);
        assert!(node.taints_without("c").is_none());
    }
}
