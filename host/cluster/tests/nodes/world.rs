//! The control plane, the operator, a pool, and two nodes.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::{Namespace, Node as KubeNode};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt as _};
use rustix::process::Pid;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tenure_cluster::client::{call, connect};
use tenure_cluster::definitions::definitions;
use tenure_cluster::{AddressPool, IPBlock, NodeIPAM};
use tenure_fixtures::control_plane::{ADMIN_TOKEN, ControlPlane, later};
use tenure_fixtures::node::binaries;
use tenure_fixtures::wait;
use tokio::runtime::Runtime;

use crate::node::Node;

/// The longest that anything may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(180);

/// The pool of the nodes.
pub(crate) const POOL: &str = "pods";

/// The cluster.
pub(crate) struct World {
    pub(crate) nodes: Vec<Node>,
    pub(crate) client: Client,
    pub(crate) runtime: Runtime,
    pub(crate) plane: ControlPlane,
    operator: Option<Child>,
    pub(crate) kubeconfig: PathBuf,
    /// The kubeconfig of the operator's next start.
    pub(crate) operators_kubeconfig: PathBuf,
    folder: TempDir,
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop_operator();
    }
}

impl World {
    /// Starts everything, and waits until both nodes have a block.
    pub(crate) fn start() -> anyhow::Result<Self> {
        // Another part of the program may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let mut plane = ControlPlane::start()?;
        let kubeconfig = plane.kubeconfig(ADMIN_TOKEN)?;
        let client = wait::until("the API server", LIMIT, || {
            plane.check()?;
            Ok(runtime.block_on(install(&kubeconfig)).ok())
        })?;
        let folder = tempfile::tempdir()?;
        let (nodes, operator, operators_kubeconfig) = (vec![], None, kubeconfig.clone());
        let mut world =
            Self { nodes, client, runtime, plane, operator, kubeconfig, operators_kubeconfig, folder };
        world.start_operator()?;
        world.create_pool()?;
        for name in ["blue", "green"] {
            let node = Node::prepare(name, &world.kubeconfig)?;
            world.create(&serde_json::from_value::<KubeNode>(node.object()?)?)?;
            world.nodes.push(node);
        }
        world.nodes.iter_mut().try_for_each(|node| node.daemon.spawn())?;
        world.ready()?;
        Ok(world)
    }

    /// Creates the pool of the nodes: 16 blocks of 13 usable addresses.
    pub(crate) fn create_pool(&self) -> anyhow::Result<()> {
        let spec = json!({ "ipv4": { "cidrs": ["10.90.0.0/24"], "blockPrefix": 28 }, "cooldownSeconds": 0 });
        self.create(&AddressPool::new(POOL, serde_json::from_value(spec)?)).map(drop)
    }

    /// Adds a node with a pool or several of its own, and waits until it is ready.
    pub(crate) fn join(&mut self, node: Node) -> anyhow::Result<()> {
        self.create(&serde_json::from_value::<KubeNode>(node.object()?)?)?;
        self.nodes.push(node);
        self.nodes.last_mut().context("no node")?.daemon.spawn()?;
        self.ready()
    }

    /// Waits until each node is ready, and holds a block.
    pub(crate) fn ready(&self) -> anyhow::Result<()> {
        wait::holds("each node to be ready with a block", LIMIT, || {
            let is_ready =
                |node: &Node| node.daemon.ctl_output(&["status"]).is_ok_and(|output| output.status.success());
            Ok(self.nodes.iter().all(is_ready) && self.nodes.iter().all(|node| self.has_block(&node.name)))
        })
    }

    fn has_block(&self, node: &str) -> bool {
        self.blocks().is_ok_and(|blocks| blocks.values().any(|holder| holder == node))
    }

    pub(crate) fn start_operator(&mut self) -> anyhow::Result<()> {
        let log = File::options().create(true).append(true).open(self.folder.path().join("operator.log"))?;
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(binaries::find("tenure-operator")?)
            .args(["--identity", "operator"])
            .arg("--kubeconfig")
            .arg(&self.operators_kubeconfig)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.operator = Some(child);
        Ok(())
    }

    /// Lets the API server take fields and words of a later version while something happens, without the operator, which would be one of that
    /// version.
    pub(crate) fn with_later_definitions(
        &mut self,
        happens: impl FnOnce(&mut Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.stop_operator();
        for definition in definitions() {
            self.define(&later::definition(serde_json::to_value(&definition)?).context("another form")?)?;
        }
        let result = happens(self);
        self.runtime.block_on(install(&self.kubeconfig))?;
        self.start_operator()?;
        result
    }

    /// Applies a definition.
    pub(crate) fn define(&self, definition: &Value) -> anyhow::Result<()> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let name = definition["metadata"]["name"].as_str().context("a definition without a name")?;
        let parameters = PatchParams::apply("tests").force();
        self.runtime.block_on(call(api.patch(name, &parameters, &Patch::Apply(definition))))?;
        Ok(())
    }

    /// The operator's process.
    pub(crate) fn operator_pid(&self) -> anyhow::Result<Pid> {
        Ok(Pid::from_child(self.operator.as_ref().context("the operator does not run")?))
    }

    /// Kills the operator.
    pub(crate) fn stop_operator(&mut self) {
        if let Some(mut child) = self.operator.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts the API server again, and waits until it answers. An operator that could not renew its Lease meanwhile has ended, and is started
    /// again, as Kubernetes does it.
    pub(crate) fn start_server(&mut self) -> anyhow::Result<()> {
        self.plane.start_server()?;
        wait::holds("the API server to be back", LIMIT, || Ok(self.blocks().is_ok()))?;
        let ended = self.operator.as_mut().map(Child::try_wait).transpose()?.flatten();
        if ended.is_some() { self.start_operator() } else { Ok(()) }
    }

    /// The leased blocks, each with its node.
    pub(crate) fn blocks(&self) -> anyhow::Result<BTreeMap<IpNet, String>> {
        let api: Api<IPBlock> = Api::all(self.client.clone());
        let list = self.runtime.block_on(call(api.list(&ListParams::default())))?;
        list.items.into_iter().map(|block| Ok((block.spec.cidr.parse()?, block.spec.node_name))).collect()
    }

    /// The node that holds the block of an address.
    pub(crate) fn holder(&self, address: IpAddr) -> anyhow::Result<String> {
        let blocks = self.blocks()?;
        let found = blocks.into_iter().find(|(cidr, _)| cidr.contains(&address));
        Ok(found.with_context(|| format!("{address} is in no leased block"))?.1)
    }

    /// The uid of a lease; `None` if there is none of this name.
    pub(crate) fn block_uid(&self, name: &str) -> anyhow::Result<Option<String>> {
        let api: Api<IPBlock> = Api::all(self.client.clone());
        Ok(self.runtime.block_on(call(api.get_opt(name)))?.and_then(|block| block.metadata.uid))
    }

    /// Expects that all addresses of all nodes differ, and that each is of its own node's block.
    pub(crate) fn referee(&self) -> anyhow::Result<()> {
        let mut seen = BTreeMap::new();
        for node in &self.nodes {
            for address in node.addresses()? {
                let before = seen.insert(address, &node.name);
                ensure!(before.is_none(), "{address} is in use on {} and {before:?}", node.name);
                let holder = self.holder(address)?;
                ensure!(holder == node.name, "{address} of {} is of a block of {holder}", node.name);
            }
        }
        Ok(())
    }

    /// Deletes the pods of a test.
    pub(crate) fn clear(&mut self) -> anyhow::Result<()> {
        self.nodes.iter_mut().try_for_each(Node::clear)
    }

    pub(crate) fn node_object(&self, name: &str) -> anyhow::Result<Option<NodeIPAM>> {
        let api: Api<NodeIPAM> = Api::all(self.client.clone());
        Ok(self.runtime.block_on(call(api.get_opt(name)))?)
    }

    pub(crate) fn create<K>(&self, object: &K) -> anyhow::Result<K>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Serialize,
    {
        let api: Api<K> = Api::all(self.client.clone());
        Ok(self.runtime.block_on(call(api.create(&PostParams::default(), object)))?)
    }

    pub(crate) fn change<K>(&self, name: &str, patch: &Value) -> anyhow::Result<()>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.client.clone());
        let parameters = PatchParams::default();
        self.runtime.block_on(call(api.patch(name, &parameters, &Patch::Merge(patch))))?;
        Ok(())
    }

    pub(crate) fn delete<K>(&self, name: &str) -> anyhow::Result<()>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.client.clone());
        self.runtime.block_on(call(api.delete(name, &DeleteParams::default())))?;
        Ok(())
    }

    /// The programs' logs, for the report of a failure.
    pub(crate) fn logs(&self) -> String {
        let operator = std::fs::read_to_string(self.folder.path().join("operator.log")).unwrap_or_default();
        let nodes = self.nodes.iter().map(|node| {
            let log = std::fs::read_to_string(node.daemon.path("tenured.log")).unwrap_or_default();
            let told = node
                .daemon
                .ctl_output(&["status"])
                .map(|told| String::from_utf8_lossy(&told.stdout).into_owned());
            format!("--- {}: {}\n{log}", node.name, told.unwrap_or_default())
        });
        let nodes: String = nodes.collect();
        format!("--- the pools\n{}--- the operator\n{operator}{nodes}", self.pools())
    }

    /// Lists the pools with their conditions. A pool whose CIDRs overlap those of another test serves nobody.
    fn pools(&self) -> String {
        let api: Api<AddressPool> = Api::all(self.client.clone());
        let listed = self.runtime.block_on(call(api.list(&ListParams::default())));
        let pools = listed.map(|list| list.items).unwrap_or_default();
        pools
            .iter()
            .map(|pool| format!("{}: {:?}\n", pool.name_any(), pool.status.as_ref().map(|of| &of.conditions)))
            .collect()
    }
}

/// Waits for a part of the start: the server, the definitions, the operator's namespace.
async fn install(kubeconfig: &std::path::Path) -> anyhow::Result<Client> {
    let client = connect(Some(kubeconfig)).await?;
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in definitions() {
        let name = definition.metadata.name.clone().context("a definition without a name")?;
        let patch = PatchParams::apply("tests").force();
        let applied = call(api.patch(&name, &patch, &Patch::Apply(&definition))).await?;
        let conditions = applied.status.and_then(|status| status.conditions).unwrap_or_default();
        let holds =
            conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True");
        ensure!(holds, "{name} is not served yet");
    }
    let api: Api<Namespace> = Api::all(client.clone());
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "tenure-system" } });
    call(api.patch("tenure-system", &PatchParams::apply("tests"), &Patch::Apply(&namespace))).await?;
    Ok(client)
}
