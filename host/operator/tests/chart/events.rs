//! The events of the accounts: each speaks for itself, and an agent for its own node.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::Test;
use crate::agents::{agent, token};
use crate::cluster::{Cluster, dynamic, forbidden};

pub(crate) const TESTS: &[Test] = &[("events::an_account_speaks_for_itself_and_for_its_own_node", own)];

const AGENT: &str = "ipam.tenure.dev/tenured";
const OPERATOR: &str = "ipam.tenure.dev/operator";

/// An event of a controller and an instance, about an object of a kind.
fn event(controller: &str, instance: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": { "generateName": "front-0-", "namespace": "default" },
        "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "action": "Compare", "reason": "AddressReclaimed",
        "reportingController": controller, "reportingInstance": instance,
        "regarding": { "apiVersion": "v1", "kind": kind, "namespace": "default", "name": "front-0" },
    })
}

fn own(cluster: &Cluster) -> anyhow::Result<()> {
    let agent = agent(cluster, "node-a")?;
    let others = "has the node of its token as reportingInstance";
    cluster.until("the policy to be in force", || {
        let answer = cluster.create(&agent, &event(AGENT, "node-b", "Pod"));
        Ok(forbidden(answer, others).is_ok().then_some(()))
    })?;
    let made = cluster.create(&agent, &event(AGENT, "node-a", "Pod"))?;
    cluster.create(&agent, &event(AGENT, "node-a", "NodeIPAM"))?;
    for (controller, kind, words) in [
        (OPERATOR, "Pod", "has tenure's reportingController"),
        ("kubelet", "Pod", "has tenure's reportingController"),
        (AGENT, "Node", "is about a Pod or a NodeIPAM"),
        (AGENT, "AddressPool", "is about a Pod or a NodeIPAM"),
    ] {
        forbidden(cluster.create(&agent, &event(controller, "node-a", kind)), words)?;
    }
    let unbound = cluster.connect(&token(cluster, "tenure-agent", None)?, "")?;
    forbidden(cluster.create(&unbound, &event(AGENT, "node-a", "Pod")), others)?;
    let operator = cluster.connect(&token(cluster, "tenure-operator", None)?, "")?;
    cluster.create(&operator, &event(OPERATOR, "tenure-operator-1", "AddressPool"))?;
    forbidden(cluster.create(&operator, &event(AGENT, "node-a", "Pod")), "has tenure's reportingController")?;
    let name = made.metadata.name.unwrap_or_default();
    for client in [&agent, &operator] {
        let note = Patch::Merge(json!({ "note": "forged" }));
        let api = dynamic(client, &event(AGENT, "node-a", "Pod"));
        let patched = cluster.call(api.patch(&name, &PatchParams::default(), &note));
        forbidden(patched, "cannot patch resource \"events\"")?;
    }
    Ok(())
}
