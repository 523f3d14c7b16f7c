//! The control plane: etcd, the API server, the controller manager and the scheduler, in the enclave, beside the machine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use tenure_fixtures::go_module::{GoModule, KUBERNETES, NODE};

use super::super::enclave::Enclave;
use super::super::wait;
use super::machine::{NAME, SHARED};
use super::process::DemoProcess;

/// The URL of the API server, in the enclave's network.
const URL: &str = "https://127.0.0.1:6443";

/// The running control plane.
#[derive(Debug)]
pub(super) struct ControlPlane {
    processes: Vec<DemoProcess>,
}

impl ControlPlane {
    /// Starts all four, and waits until the API server is ready.
    ///
    /// # Errors
    /// When one ends, or the API server is not ready within a minute.
    pub(super) fn start(enclave: &Enclave, target: &Path) -> Result<Self> {
        let folder = |name: &str| enclave.outside(&format!("{SHARED}/{name}"));
        let tokens =
            format!("admin,admin,1,\"system:masters\"\nkubelet,system:node:{NAME},2,\"system:nodes\"\n");
        fs::write(folder("tokens.csv"), tokens)?;
        for user in ["admin", "kubelet"] {
            fs::write(folder(&format!("{user}.kubeconfig")), kubeconfig(user))?;
        }
        let start = |module: &GoModule, name: &'static str, arguments: &[String]| {
            let program = program(target, module, name);
            let mut command = enclave.command(program);
            command.args(arguments);
            DemoProcess::start(name, command, folder(&format!("{name}.log")))
        };
        let mut plane = Self { processes: vec![start(&KUBERNETES, "etcd", &etcd())?] };
        plane.processes.push(start(&KUBERNETES, "kube-apiserver", &api_server())?);
        wait::holds("the API server", || {
            plane.check()?;
            let mut ready = enclave.command(program(target, &NODE, "kubectl"));
            ready.args([&format!("--kubeconfig={SHARED}/admin.kubeconfig"), "get", "--raw=/readyz"]);
            Ok(crate::command::succeeds(&mut ready))
        })?;
        plane.processes.push(start(&NODE, "kube-controller-manager", &controller_manager())?);
        plane.processes.push(start(&NODE, "kube-scheduler", &client())?);
        Ok(plane)
    }

    /// Checks that all of it still runs.
    ///
    /// # Errors
    /// Names the one that has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        self.processes.iter_mut().try_for_each(DemoProcess::check)
    }
}

/// A program that was built from a module.
pub(super) fn program(target: &Path, module: &GoModule, name: &str) -> PathBuf {
    target.join(module.folder_name()).join(name)
}

/// A kubeconfig for the bearer of a token, with the certificate that the API server makes for itself.
fn kubeconfig(token: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: demo\nclusters:\n- name: demo\n  cluster:\n    \
         certificate-authority: {SHARED}/certificates/apiserver.crt\n    server: {URL}\nusers:\n- name: demo\n  user: {{token: {token}}}\n\
         contexts:\n- name: demo\n  context: {{cluster: demo, user: demo}}\n"
    )
}

fn etcd() -> Vec<String> {
    let (client, peer) = ("http://127.0.0.1:2379", "http://127.0.0.1:2380");
    // Its data is in memory, and nobody needs it after the demonstration.
    flags(&[
        ("data-dir", &format!("{SHARED}/etcd")),
        ("listen-client-urls", client),
        ("advertise-client-urls", client),
        ("listen-peer-urls", peer),
        ("initial-advertise-peer-urls", peer),
        ("initial-cluster", &format!("default={peer}")),
        ("unsafe-no-fsync", "true"),
    ])
}

fn api_server() -> Vec<String> {
    let key = format!("{SHARED}/certificates/apiserver.key");
    flags(&[
        ("etcd-servers", "http://127.0.0.1:2379"),
        ("bind-address", "127.0.0.1"),
        ("advertise-address", "127.0.0.1"),
        ("secure-port", "6443"),
        ("endpoint-reconciler-type", "none"),
        ("cert-dir", &format!("{SHARED}/certificates")),
        ("service-account-key-file", &key),
        ("service-account-signing-key-file", &key),
        ("service-account-issuer", "https://kubernetes.default.svc"),
        ("token-auth-file", &format!("{SHARED}/tokens.csv")),
        ("authorization-mode", "Node,RBAC"),
        ("enable-admission-plugins", "NodeRestriction"),
        ("kubelet-preferred-address-types", "InternalIP"),
        ("allow-privileged", "true"),
        ("service-cluster-ip-range", "10.96.0.0/16"),
    ])
}

fn controller_manager() -> Vec<String> {
    let mut arguments = client();
    arguments.extend(flags(&[
        ("service-account-private-key-file", &format!("{SHARED}/certificates/apiserver.key")),
        ("root-ca-file", &format!("{SHARED}/certificates/apiserver.crt")),
    ]));
    arguments
}

/// The arguments of a component that is alone and is not to be slow.
fn client() -> Vec<String> {
    flags(&[
        ("kubeconfig", &format!("{SHARED}/admin.kubeconfig")),
        ("leader-elect", "false"),
        ("secure-port", "0"),
        ("kube-api-qps", "500"),
        ("kube-api-burst", "1000"),
    ])
}

fn flags(pairs: &[(&str, &str)]) -> Vec<String> {
    pairs.iter().map(|(name, value)| format!("--{name}={value}")).collect()
}
