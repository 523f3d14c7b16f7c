//! A real API server for a node on AWS, with the objects that its daemon follows.

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

use crate::node::{AwsNode, LIMIT, config};

/// The name of the Node.
pub(crate) const NODE: &str = "blue";

/// The taint of a node that has just come.
pub(crate) const TAINT: &str = "ipam.tenure.dev/not-ready";

/// The setting that each node has in whose custom network interfaces are created: where, its ENIConfig says.
pub(crate) const CUSTOM: &str =
    "customNetwork = { enabled = true }\nenv = { ENI_CONFIG_LABEL_DEF = \"zone\" }";

/// Where objects are made and changed.
pub(crate) const NODES: &str = "/api/v1/nodes";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ENI_CONFIGS: &str = "/apis/crd.k8s.amazonaws.com/v1alpha1/eniconfigs";

/// An API server that is reached from within a node's network namespace, too, by the same port of loopback.
pub(crate) struct ApiServer {
    pub(crate) plane: ControlPlane,
    proxy: FaultProxy,
    /// The network namespace of the node, and whether its door is to be closed.
    netns: PathBuf,
    closed: Arc<AtomicBool>,
}

impl ApiServer {
    /// Starts one for a node with these settings, which gets its configuration; the Node is there, and its ENIConfig is not.
    pub(crate) fn start(node: &AwsNode, settings: &str) -> anyhow::Result<(Self, String)> {
        let server = Self::serve(&node.node.own()?)?;
        let kubeconfig = server.proxy.kubeconfig(ADMIN_TOKEN)?;
        let more = format!(
            "[node]\nname = \"{NODE}\"\n[cluster]\nnode = true\nstartup_taint = \"{TAINT}\"\nkubeconfig = \"{}\"\n",
            kubeconfig.display()
        );
        let config = config(settings, &more);
        node.node.daemon.configure(&config)?;
        server.create(DEFINITIONS, &eni_configs::definition())?;
        let mut object = kubelets_node(NODE, NODE, "00000000-0000-4000-8000-000000000001");
        object["metadata"]["labels"] = json!({ "zone": "eu-1a" });
        object["spec"] = json!({ "taints": [
            { "key": TAINT, "effect": "NoSchedule" }, { "key": "dedicated", "effect": "NoSchedule" },
        ] });
        object["status"]["allocatable"] = json!({ "pods": "8" });
        server.create(NODES, &object)?;
        Ok((server, config))
    }

    fn serve(netns: &Path) -> anyhow::Result<Self> {
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
        self.create(ENI_CONFIGS, &eni_config)
    }

    /// Waits until it answers.
    pub(crate) fn serves(&self) -> anyhow::Result<()> {
        let is_ready = || Ok(self.send("GET /readyz", "").is_ok_and(|answer| answer.status == 200));
        wait::holds("the API server", LIMIT, is_ready)
    }

    fn create(&self, to: &str, object: &Value) -> anyhow::Result<()> {
        // The API server learns of a definition a moment after it was written.
        wait::holds(to, LIMIT, || Ok(self.send(&format!("POST {to}"), &object.to_string())?.status == 201))
    }

    pub(crate) fn change(&self, what: &str, patch: &Value) -> anyhow::Result<()> {
        let answer = self.send(&format!("PATCH {what}"), &patch.to_string())?;
        ensure!(answer.status == 200, "{what}: {answer:?}");
        Ok(())
    }

    /// Whether the Node has a taint.
    pub(crate) fn has_taint(&self, key: &str) -> anyhow::Result<bool> {
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
