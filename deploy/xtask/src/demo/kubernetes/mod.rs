//! `cargo xtask demo --kubernetes`: tenure on a real node, with a control plane of its own.
//!
//! Everything is in an [`Enclave`], which the kernel removes however the demonstration ends; the control groups of pods alone are removed
//! by hand, by the next demonstration if this one is killed. No act asserts how long something takes.

mod absence;
mod acts;
mod blocks;
mod cluster;
mod figures;
mod groups;
mod images;
mod machine;
mod node;
mod plane;
mod process;
mod stage;
mod workloads;

use anyhow::{Context as _, Result, ensure};

use self::cluster::Cluster;
use self::groups::ControlGroups;
use self::machine::Machine;
use self::node::KubernetesNode;
use self::plane::ControlPlane;
use self::stage::Stage;
use super::enclave::Enclave;
use super::tell::Teller;
use crate::workspace::Workspace;
use crate::{command, kubernetes, tools};

/// Mounts as the machine of the demonstration and containerd do.
const MOUNTS: &str = "mount -t tmpfs tmpfs /run; mkdir /run/upper /run/work /run/at; \
     mount -t overlay -o lowerdir=/etc,upperdir=/run/upper,workdir=/run/work overlay /run/at";

/// Builds what is missing, and demonstrates.
///
/// # Errors
/// When a guarantee is broken.
pub(crate) fn demo(workspace: &Workspace) -> Result<()> {
    let tell = Teller::new();
    tell.act("Preparing");
    tools::apt(&tools::DEMO_KUBERNETES_PACKAGES)?;
    tools::rustup();
    kubernetes::node(workspace)?;
    tell.line("building: the first time takes much longer, mostly for the compiler in wasmtime");
    command::run(workspace.cargo().arg("build").args(super::BUILD).args(super::BUILD_CLUSTER))?;
    show(workspace, true)
}

/// Demonstrates with what was built, and measures starts of pods if that is wanted.
///
/// # Errors
/// When a guarantee is broken; the message ends with the last lines of the daemons' logs.
pub(crate) fn show(workspace: &Workspace, with_figures: bool) -> Result<()> {
    let tell = Teller::new();
    let obstacles = obstacles();
    ensure!(obstacles.is_empty(), "this machine cannot run a node: {}", obstacles.join("; "));
    // Dropped in the opposite order: groups can be removed once their processes have ended.
    let groups = ControlGroups::new()?;
    let enclave = Enclave::new()?;
    let machine = Machine::start(&enclave, &workspace.target)?;
    tell.line(
        "private namespaces are ready; the kernel removes them and everything in them when this program ends",
    );
    let plane = ControlPlane::start(&enclave, &workspace.target)?;
    tell.line("etcd, the API server, the controller manager and the scheduler are running");
    let node = KubernetesNode::start(machine)?;
    images::load(workspace, &node)?;
    let cluster = Cluster::new(&enclave, &workspace.target);
    let mut stage = Stage { workspace, with_figures, tell, groups: &groups, plane, node, cluster };
    let played = stage.play();
    played.with_context(|| stage.node.tails())?;
    drop(stage);
    drop(enclave);
    groups.remove()?;
    tell.good("the namespaces, all processes in them and the control groups of the pods are gone");
    Ok(())
}

/// Names the reasons for which this machine cannot run a kubelet.
pub(crate) fn obstacles() -> Vec<String> {
    let mut found = Vec::new();
    if !rustix::process::geteuid().is_root() {
        found.push("it needs root".to_owned());
        return found;
    }
    let programs =
        [("runc", "runc"), ("iptables", "iptables"), ("ip", "iproute2"), ("unshare", "util-linux")];
    for (program, package) in programs {
        if !["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
            .iter()
            .any(|at| std::path::Path::new(at).join(program).exists())
        {
            found.push(format!("{program} of the package {package} is missing"));
        }
    }
    let mut mounting = std::process::Command::new("unshare");
    mounting.args(["--mount", "--net", "--pid", "--fork", "bash", "-ec", MOUNTS]);
    if let Err(error) = command::output(&mut mounting) {
        found.push(format!("namespaces or overlay mounts are refused here: {error:#}"));
    }
    if let Err(error) = ControlGroups::new() {
        found.push(format!("control groups cannot be made here: {error:#}"));
    }
    found
}
