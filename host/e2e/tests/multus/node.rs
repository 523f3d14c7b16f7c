//! A node in an enclave, whose pods' networks are what Multus makes of them.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::api_server::Door;
use tenure_e2e::{Attachment, Daemon, Enclave, Plugin};
use tenure_fixtures::control_plane;
use tenure_fixtures::node::plugin::Outcome;

use crate::cluster::Cluster;

/// A node.
pub(crate) struct MultusNode {
    pub(crate) cluster: Cluster,
    daemon: Daemon,
    /// The configuration of Multus.
    config: Value,
    /// The way of Multus to the API server.
    _door: Door,
    enclave: Enclave,
}

/// A pod of a node.
pub(crate) struct MultusPod<'a> {
    plugin: Plugin,
    attachment: Attachment,
    config: &'a Value,
}

/// A network of `bridge` with addresses from tenure, which takes requests for addresses.
pub(crate) fn network(name: &str, subnets: &[&str]) -> Value {
    let ranges: Vec<Value> = subnets.iter().map(|subnet| json!([{ "subnet": subnet }])).collect();
    json!({
        "cniVersion": "1.0.0", "name": name, "type": "bridge", "bridge": format!("br-{name}"),
        "capabilities": { "ips": true }, "ipam": { "type": "tenure", "ranges": ranges },
    })
}

impl MultusNode {
    /// Starts the API server and the daemon, and defines two networks beside the default one.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let (cluster, daemon, enclave) = (Cluster::start()?, Daemon::start()?, Enclave::new()?);
        cluster.define("blue", &network("blue", &["10.71.0.0/24"]))?;
        cluster.define("red", &network("red", &["10.72.0.0/24", "fd72::/64"]))?;
        let door = Door::open(&enclave.netns(), cluster.port()?)?;
        let config = json!({
            "cniVersion": "1.0.0", "name": "multus", "type": "multus", "kubeconfig": cluster.kubeconfig()?,
            "cniDir": "/run/multus", "binDir": "/usr/lib/cni", "delegates": [network("default", &["10.70.0.0/24"])],
        });
        Ok(Self { cluster, daemon, config, _door: door, enclave })
    }

    /// Makes a pod with networks beside the default one, and its network namespace.
    pub(crate) fn create(&self, name: &str, networks: &Value) -> anyhow::Result<MultusPod<'_>> {
        let uid = self.cluster.create(name, networks)?;
        let arguments = format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={name};K8S_POD_INFRA_CONTAINER_ID={name};K8S_POD_UID={uid}"
        );
        let tenure = self.daemon.plugin_directory(&["tenure"])?;
        let plugin = Plugin::new(&control_plane::multus()?)
            .under(&self.enclave.command("env"))
            .env("CNI_PATH", format!("{}:/usr/lib/cni", tenure.display()))
            .env("CNI_ARGS", arguments)
            .env("TENURE_SOCKET", self.daemon.socket());
        let attachment = Attachment::in_netns(name, self.enclave.add_netns(name)?);
        Ok(MultusPod { plugin, attachment, config: &self.config })
    }

    /// The interfaces that have an address of a network, in order.
    pub(crate) fn interfaces(&self, network: &str) -> anyhow::Result<Vec<String>> {
        let allocations = self.daemon.allocations(network)?;
        let name = |row: &Value| {
            Some(row.pointer("/owner/interface").or(row.get("interface"))?.as_str()?.to_owned())
        };
        let mut names: Vec<String> = allocations
            .iter()
            .map(|row| name(row).with_context(|| row.to_string()))
            .collect::<Result<_, _>>()?;
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Checks that no network has an allocation.
    pub(crate) fn has_none(&self) -> anyhow::Result<()> {
        for network in ["default", "blue", "red"] {
            let left = self.daemon.allocations(network)?;
            ensure!(left.is_empty(), "left on {network}: {left:?}");
        }
        Ok(())
    }
}

impl MultusPod<'_> {
    /// Calls Multus as a runtime does.
    pub(crate) fn call(&self, verb: &str) -> anyhow::Result<Outcome> {
        self.plugin.call(verb, &self.attachment, self.config)
    }
}
