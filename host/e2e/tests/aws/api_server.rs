//! A real API server for a node on AWS, with the objects that its daemon follows.

use anyhow::Context;
use serde_json::{Value, json};
use tenure_e2e::ApiServer;
use tenure_e2e::api_server::{DEFINITIONS, Door};
use tenure_fixtures::control_plane::{eni_configs, kubelets_node};

use crate::node::{AwsNode, config};

/// The name of the Node.
pub(crate) const NODE: &str = "blue";

/// The taint of a node that has just come.
pub(crate) const TAINT: &str = "ipam.tenure.dev/not-ready";

/// The setting that each node has in whose custom network interfaces are created: where, its ENIConfig says.
pub(crate) const CUSTOM: &str =
    "customNetwork = { enabled = true }\nenv = { ENI_CONFIG_LABEL_DEF = \"zone\" }";

const NODES: &str = "/api/v1/nodes";
const ENI_CONFIGS: &str = "/apis/crd.k8s.amazonaws.com/v1alpha1/eniconfigs";

/// An API server that is reached from within a node's network namespace, too.
pub(crate) struct NodesServer {
    pub(crate) api: ApiServer,
    _door: Door,
}

impl NodesServer {
    /// Starts one for a node with these settings, which gets its configuration; the Node is there, and its ENIConfig is not.
    pub(crate) fn start(node: &AwsNode, settings: &str) -> anyhow::Result<(Self, String)> {
        let api = ApiServer::start()?;
        let door = Door::open(&node.node.own(), api.proxy.port())?;
        let kubeconfig = api.kubeconfig()?;
        let more = format!(
            "[node]\nname = \"{NODE}\"\n[cluster]\nnode = true\nstartup_taint = \"{TAINT}\"\nkubeconfig = \"{}\"\n",
            kubeconfig.display()
        );
        let config = config(settings, &more);
        node.node.daemon.configure(&config)?;
        api.create(DEFINITIONS, &eni_configs::definition())?;
        let mut object = kubelets_node(NODE, NODE, "00000000-0000-4000-8000-000000000001");
        object["metadata"]["labels"] = json!({ "zone": "eu-1a" });
        object["spec"] = json!({ "taints": [
            { "key": TAINT, "effect": "NoSchedule" }, { "key": "dedicated", "effect": "NoSchedule" },
        ] });
        object["status"]["allocatable"] = json!({ "pods": "8" });
        api.create(NODES, &object)?;
        Ok((Self { api, _door: door }, config))
    }

    /// Makes the ENIConfig of the Node: the subnet of its own interface, and a security group of the account.
    pub(crate) fn create_eni_config(&self, node: &AwsNode) -> anyhow::Result<()> {
        let groups = node.double.get("/state")?["account"]["groups"].clone();
        let groups = [groups.as_array().cloned().context("groups")?, vec![json!("sg-pods")]].concat();
        node.double.ask("PUT", "/account", &json!({ "groups": groups }))?;
        let subnet = node.double.interfaces()?[0]["subnet"].clone();
        let eni_config = json!({
            "apiVersion": "crd.k8s.amazonaws.com/v1alpha1", "kind": "ENIConfig", "metadata": { "name": "eu-1a" },
            "spec": { "subnet": subnet, "securityGroups": ["sg-pods"] },
        });
        self.api.create(ENI_CONFIGS, &eni_config).map(drop)
    }

    /// Changes the Node.
    pub(crate) fn change(&self, patch: &Value) -> anyhow::Result<()> {
        self.api.ask(&format!("PATCH {NODES}/{NODE}"), patch).map(drop)
    }

    /// Whether the Node has a taint.
    pub(crate) fn has_taint(&self, key: &str) -> anyhow::Result<bool> {
        let node = self.api.ask(&format!("GET {NODES}/{NODE}"), &Value::Null)?;
        Ok(node.contains(&format!("\"key\":\"{key}\"")))
    }
}
