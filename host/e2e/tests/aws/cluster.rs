//! A node on AWS whose daemon follows its Node and its ENIConfig in a real API server.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{request, traffic, wait};
use tenure_fixtures::control_plane::proxy::FaultProxy;
use tenure_fixtures::control_plane::{ADMIN_TOKEN, ControlPlane, eni_configs, kubelets_node};

use crate::node::{self, AwsNode, LIMIT};

/// The name of the Node.
const NODE: &str = "blue";

/// The taint of a node that has just come.
const TAINT: &str = "ipam.tenure.dev/not-ready";

/// Where objects are made and changed.
const NODES: &str = "/api/v1/nodes";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ENI_CONFIGS: &str = "/apis/crd.k8s.amazonaws.com/v1alpha1/eniconfigs";

/// An API server that is reached from within a node's network namespace, too, by the same port of loopback.
struct ApiServer {
    plane: ControlPlane,
    proxy: FaultProxy,
    /// The network namespace of the node, and whether its door is to be closed.
    netns: PathBuf,
    closed: Arc<AtomicBool>,
}

impl ApiServer {
    fn start(netns: &Path) -> anyhow::Result<Self> {
        let mut plane = ControlPlane::start()?;
        let proxy = wait::until("the API server's certificate", LIMIT, || {
            plane.check()?;
            Ok(plane.proxy().ok())
        })?;
        let closed = Arc::new(AtomicBool::new(false));
        let port = proxy.port();
        let listener = traffic::inside(netns, || Ok(TcpListener::bind(("127.0.0.1", port))?))?;
        let shared = Arc::clone(&closed);
        thread::spawn(move || relay(&listener, port, &shared));
        let server = Self { plane, proxy, netns: netns.to_owned(), closed };
        server.serves()?;
        Ok(server)
    }

    /// Waits until it answers.
    fn serves(&self) -> anyhow::Result<()> {
        let is_ready = || Ok(self.send("GET /readyz", "").is_ok_and(|answer| answer.status == 200));
        wait::holds("the API server", LIMIT, is_ready)
    }

    fn create(&self, to: &str, object: &Value) -> anyhow::Result<()> {
        // The API server learns of a definition a moment after it was written.
        wait::holds(to, LIMIT, || Ok(self.send(&format!("POST {to}"), &object.to_string())?.status == 201))
    }

    fn change(&self, what: &str, patch: &Value) -> anyhow::Result<()> {
        let answer = self.send(&format!("PATCH {what}"), &patch.to_string())?;
        ensure!(answer.status == 200, "{what}: {answer:?}");
        Ok(())
    }

    /// Whether the Node has a taint.
    fn has_taint(&self, key: &str) -> anyhow::Result<bool> {
        let answer = self.send(&format!("GET {NODES}/{NODE}"), "")?;
        ensure!(answer.status == 200, "{answer:?}");
        Ok(answer.body.contains(&format!("\"key\":\"{key}\"")))
    }

    fn send(&self, what: &str, body: &str) -> anyhow::Result<request::Answer> {
        let kind = if what.starts_with("PATCH") { "merge-patch+json" } else { "json" };
        let head =
            [format!("Authorization: Bearer {ADMIN_TOKEN}"), format!("Content-Type: application/{kind}")];
        let to = format!("127.0.0.1:{}", self.proxy.port());
        request::ask(Path::new("/proc/self/ns/net"), &to, what, &head, body)
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
        let port = self.proxy.port();
        // The listener looks up.
        let _ = traffic::inside(&self.netns, || Ok(TcpStream::connect(("127.0.0.1", port))?));
    }
}

/// Leads connections to the same port of this process's network namespace.
fn relay(listener: &TcpListener, port: u16, closed: &AtomicBool) {
    for client in listener.incoming() {
        if closed.load(Ordering::Acquire) {
            return;
        }
        let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", port))) else { continue };
        let client = Arc::new(client);
        let server = Arc::new(server);
        for (from, to) in [(&client, &server), (&server, &client)] {
            let (from, to) = (Arc::clone(from), Arc::clone(to));
            thread::spawn(move || {
                // A failure of either side ends the connection.
                let _ = io::copy(&mut &*from, &mut &*to);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
    }
}

/// From a new machine to one that is scaled in, and an API server that goes away in between.
pub(crate) fn followed() -> anyhow::Result<()> {
    let settings = "customNetwork = { enabled = true }
         env = { ENI_CONFIG_LABEL_DEF = \"zone\" }
         warm = { addresses = 2 }
         [[networks.pods.ipam.targets]]
         labels = { pool = \"batch\" }
         warm = { addresses = 3 }";
    let mut node = AwsNode::prepare("t3.small", "")?;
    let mut server = ApiServer::start(&node.node.own()?)?;
    let kubeconfig = server.proxy.kubeconfig(ADMIN_TOKEN)?;
    let more = format!(
        "[node]\nname = \"{NODE}\"\n[cluster]\nnode = true\nstartup_taint = \"{TAINT}\"\nkubeconfig = \"{}\"\n",
        kubeconfig.display()
    );
    let config = node::config(settings, &more);
    node.node.daemon.configure(&config)?;

    server.create(DEFINITIONS, &eni_configs::definition())?;
    let mut object = kubelets_node(NODE, NODE, "00000000-0000-4000-8000-000000000001");
    object["metadata"]["labels"] = json!({ "zone": "eu-1a" });
    object["spec"] = json!({ "taints": [
        { "key": TAINT, "effect": "NoSchedule" }, { "key": "dedicated", "effect": "NoSchedule" },
    ] });
    object["status"]["allocatable"] = json!({ "pods": "8" });
    server.create(NODES, &object)?;

    // Without its ENIConfig, a node gets no interface, and is not ready.
    node.node.launch_daemon()?;
    told(&node, "pods.max", "8")?;
    let lacks = "there is no ENIConfig eu-1a, so no interface is created";
    wait::holds("the want of an ENIConfig", LIMIT, || {
        Ok(node.condition("node-unknown")?.as_deref() == Some(lacks))
    })?;
    ensure!(
        node.double.interfaces()?.len() == 1 && server.has_taint(TAINT)?,
        "{:?}",
        node.double.interfaces()?
    );
    let groups = node.double.get("/state")?["account"]["groups"].clone();
    let groups = [groups.as_array().cloned().context("groups")?, vec![json!("sg-pods")]].concat();
    node.double.ask("PUT", "/account", &json!({ "groups": groups }))?;
    let subnet = node.double.interfaces()?[0]["subnet"].clone();
    let eni_config = json!({
        "apiVersion": "crd.k8s.amazonaws.com/v1alpha1", "kind": "ENIConfig", "metadata": { "name": "eu-1a" },
        "spec": { "subnet": subnet, "securityGroups": ["sg-pods"] },
    });
    server.create(ENI_CONFIGS, &eni_config)?;
    let output = node.node.daemon.ctl_output(&["status", "--wait", "60"])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    wait::holds("the end of the taint", LIMIT, || Ok(!server.has_taint(TAINT)?))?;
    ensure!(server.has_taint("dedicated")?, "the other taint is gone, too");
    warm(&node, 2)?;
    let interface = created(&node)?.context("no interface was created")?;
    ensure!(interface["groups"] == json!(["sg-pods"]), "{interface:#}");
    ensure!(node.condition("node-unknown")?.is_none());

    server.change(&format!("{NODES}/{NODE}"), &json!({ "metadata": { "labels": { "pool": "batch" } } }))?;
    warm(&node, 3)?;

    // The API server goes, and the daemon with it: what was said last is in force, before and after.
    server.plane.stop_server()?;
    wait::holds("the API server's silence", LIMIT, || {
        Ok(node.condition("node-unknown")?.is_some_and(|why| why.contains("cannot read Node blue: ")))
    })?;
    warm(&node, 3)?;
    node.node.kill_daemon()?;
    node.node.start_daemon()?;
    let explained = told(&node, "pods.max", "8")?;
    let label = json!({ "kind": "label", "name": "pool", "attributes": { "value": "batch" } });
    ensure!(explained["objects"].as_array().is_some_and(|objects| objects.contains(&label)), "{explained:#}");
    for number in 0..4 {
        node.add(&format!("pod-{number}"))?;
    }
    // More than one interface has.
    ensure!(node.double.interfaces()?.len() == 3, "{:?}", node.double.interfaces()?);
    node.all_have_their_way()?;

    // The machine is cordoned and scaled in.
    server.plane.start_server()?;
    server.serves()?;
    let taints = json!([{ "key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule" }]);
    let leaving = json!({ "spec": { "unschedulable": true, "taints": taints } });
    server.change(&format!("{NODES}/{NODE}"), &leaving)?;
    told(&node, "schedulable", "false")?;
    told(&node, "terminating", "true")?;
    wait::holds("the API server's word", LIMIT, || Ok(node.condition("node-unknown")?.is_none()))?;
    // The configuration wins.
    node.node.daemon.configure(&config.replace("[aws]", "[aws]\nterminating = false"))?;
    node.node.daemon.ctl(&["reload"])?;
    told(&node, "terminating", "false")?;
    told(&node, "schedulable", "false")?;
    node.all_is_well()
}

/// Waits until the policy is told something of the node; returns what it is told in all.
fn told(node: &AwsNode, name: &str, value: &str) -> anyhow::Result<Value> {
    wait::until(&format!("{name} = {value}"), LIMIT, || {
        let explained = node.node.daemon.ctl(&["plan", "--explain"]);
        Ok(explained.ok().filter(|explained| explained["attributes"][name] == value))
    })
}

/// The first interface that was created for the node.
fn created(node: &AwsNode) -> anyhow::Result<Option<Value>> {
    let interfaces = node.double.interfaces()?;
    Ok(interfaces.into_iter().find(|interface| interface["attachment"]["device"] == 1))
}

/// Waits until EC2 has assigned so many addresses to that interface, besides its own.
fn warm(node: &AwsNode, count: usize) -> anyhow::Result<()> {
    wait::holds(&format!("{count} warm addresses"), LIMIT, || {
        let created = created(node)?;
        let assigned = created.as_ref().and_then(|of| of["ipv4"].as_array()).map_or(0, Vec::len);
        Ok(assigned == count + 1)
    })
}
