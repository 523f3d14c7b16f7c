//! Nodes that speak although it is attested that they are off: they get nothing, and hear why. Nobody but an administrator can know that the machine
//! is back, and takes the attestation away.

use tenure_cluster::FENCED_ANNOTATION;
use tenure_leases::NodeIpamSpec;
use tenure_leases::operator::fence::FetchedNode;

use super::WaitReason;
use crate::view::{ClusterView, OUT_OF_SERVICE};

/// The reason for which a node waits that is attested to be off.
const NODE_FENCED: &str = "NodeFenced";

/// The reason for which a node that speaks, but is attested to be off, gets nothing; `None` if no attestation counts against it.
pub(super) fn attested_off(view: &ClusterView, said: &NodeIpamSpec) -> Option<WaitReason> {
    let me = &said.identity;
    let FetchedNode::Found(node) = view.seen_node(&me.name) else { return None };
    if node.machine != me.machine || node.uid != me.uid {
        return None;
    }
    let attestation = match (node.fenced == Some(node.uid), node.out_of_service) {
        (true, _) => format!("annotation {FENCED_ANNOTATION}"),
        (false, true) => format!("taint {OUT_OF_SERVICE}"),
        (false, false) => return None,
    };
    let message = format!("Node {} has the {attestation}; if the machine runs, take it away", me.name);
    Some(WaitReason { reason: NODE_FENCED, message })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tenure_leases::Uid;

    use super::*;
    use crate::decide::sample::{host_with, said};
    use crate::view::{ViewSources, view};

    /// The reason of a node whose Node has more besides.
    fn reason(more: &Value) -> Option<WaitReason> {
        let uid = Uid(11);
        let view = view(ViewSources {
            said: vec![said(1, uid, 1, &[])],
            hosts: vec![host_with(1, uid, more)],
            ..ViewSources::default()
        });
        attested_off(&view, &view.said["n1"].spec)
    }

    #[test]
    fn a_node_that_is_attested_to_be_off_hears_by_what() {
        assert_eq!(reason(&json!({})), None);
        let tainted = json!({ "spec": { "taints": [{ "key": OUT_OF_SERVICE, "effect": "NoExecute" }] } });
        let said = reason(&tainted).unwrap();
        assert_eq!(said.reason, "NodeFenced");
        let words =
            "Node n1 has the taint node.kubernetes.io/out-of-service; if the machine runs, take it away";
        assert_eq!(said.message, words);
        let annotated =
            |uid: u128| json!({ "metadata": { "annotations": { FENCED_ANNOTATION: Uid(uid).to_string() } } });
        assert!(reason(&annotated(11)).unwrap().message.contains("the annotation ipam.tenure.dev/fenced;"));
        assert_eq!(reason(&annotated(12)), None, "an earlier Node of the name");
    }
}
