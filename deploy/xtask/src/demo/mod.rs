//! `cargo xtask demo`: demonstrates tenure on this machine with real pods.
//!
//! Everything happens in an [`Enclave`], which the kernel removes however the demonstration ends.

mod aws;
mod cluster;
mod enclave;
pub(crate) mod kubernetes;
mod node;
mod pod;
mod tell;
mod traffic;
mod wait;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Result, bail, ensure};

use self::enclave::Enclave;
use self::node::DemoNode;
use self::pod::{DemoPod, DemoRuntime, NETWORK};
use self::tell::Teller;
use crate::workspace::Workspace;
use crate::{command, tools};

/// How many pods are added before the policy is activated, and how many after.
const BEFORE: usize = 5;
const AFTER: usize = 8;
/// How many pods may be added in total, before the demonstration counts as failed.
const MOST: usize = 200;

/// The arguments of `cargo build`, without a wing, with AWS, and with the cluster. A `tenurectl` for operators will do: without the verbs for authors and
/// without registries, a quarter of all crates need not be compiled.
const BUILD: [&str; 9] = [
    "--profile",
    "demo",
    "--no-default-features",
    "--package",
    "tenure-daemon",
    "--package",
    "tenure-ctl",
    "--package",
    "tenure-cni",
];
const BUILD_AWS: [&str; 4] = ["--package", "tenure-ec2-double", "--features", "tenure-daemon/aws"];
const BUILD_CLUSTER: [&str; 4] = ["--package", "tenure-operator", "--features", "tenure-daemon/cluster"];

/// The surroundings of the node, or of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DemoScene {
    /// A bridge on this machine.
    Bridge,
    /// A cloud.
    Aws,
    /// A cluster of three nodes.
    Cluster,
}

/// Builds tenure and demonstrates it.
///
/// # Errors
/// When a guarantee is broken.
pub(crate) fn demo(workspace: &Workspace, scene: DemoScene) -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "the demonstration creates network namespaces: run it as root"
    );
    let tell = Teller::new();
    tell.act("Preparing");
    tools::apt(match scene {
        DemoScene::Bridge => &tools::DEMO_PACKAGES,
        DemoScene::Aws => &tools::DEMO_AWS_PACKAGES,
        DemoScene::Cluster => &tools::DEMO_CLUSTER_PACKAGES,
    })?;
    tools::rustup();
    let mut build = workspace.cargo();
    build.arg("build").args(BUILD);
    let (more, what): (&[&str], _) = match scene {
        DemoScene::Bridge => (&[], "the compiler in wasmtime"),
        DemoScene::Aws => (&BUILD_AWS, "wasmtime's compiler and the AWS SDK"),
        DemoScene::Cluster => (&BUILD_CLUSTER, "wasmtime's compiler and the API server"),
    };
    build.args(more);
    tell.line(&format!("building: the first time takes much longer, mostly for {what}"));
    command::run(&mut build)?;
    let enclave = Enclave::new()?;
    tell.line(
        "private namespaces are ready; the kernel removes them and everything in them when this program ends",
    );
    match scene {
        DemoScene::Bridge => show(&enclave, workspace, &tell),
        DemoScene::Aws => aws::show(&enclave, &workspace.demo_binaries(), tell),
        DemoScene::Cluster => {
            cluster::show(&enclave, workspace, crate::kubernetes::api_server(workspace)?, tell)
        }
    }
}

/// Runs the demonstration in four acts.
fn show(enclave: &Enclave, workspace: &Workspace, tell: &Teller) -> Result<()> {
    let binaries = workspace.demo_binaries();
    let runtime = &DemoRuntime::bridge(enclave, &binaries);
    let node = DemoNode::start(enclave, binaries.clone())?;
    tell.line("tenured is running, without a configuration file");
    let mut pods = first_pods(runtime, tell)?;
    pods.extend(activate(runtime, &node, tell)?);
    let node = crash(runtime, node, &pods, tell)?;
    delete(runtime, &node, &pods, tell)
}

/// Act one: two pods get addresses and reach each other.
fn first_pods(runtime: &DemoRuntime<'_>, tell: &Teller) -> Result<Vec<DemoPod>> {
    tell.act("1. Two pods, through the real bridge plugin");
    let (first, second) = (runtime.add("pod-a")?, runtime.add("pod-b")?);
    for pod in [&first, &second] {
        tell.good(&format!("{} has {}", pod.name, pod.address));
    }
    tell.good(&format!("{} pings {}: {}", first.name, second.name, runtime.ping(&first, &second)?));
    tell.good(&format!("{} pings {}: {}", second.name, first.name, runtime.ping(&second, &first)?));
    Ok(vec![first, second])
}

/// Act two: the policy changes while pods are added.
fn activate(runtime: &DemoRuntime<'_>, node: &DemoNode<'_>, tell: &Teller) -> Result<Vec<DemoPod>> {
    tell.act("2. Another policy, while pods are added");
    let (come, coming) = mpsc::channel();
    let activated = &AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(move || stream(runtime, activated, &come));
        let mut pods: Vec<DemoPod> = Vec::new();
        for pod in coming {
            let pod = pod?;
            tell.good(&format!("{} has {}", pod.name, pod.address));
            pods.push(pod);
            if pods.len() == BEFORE {
                node.ctl(&["policy", "activate", NETWORK, "highest-first"])?;
                activated.store(true, Ordering::Release);
                tell.turn("tenurectl policy activate demo highest-first");
            }
        }
        let host =
            |pod: &DemoPod| pod.address.split(['.', '/']).nth(3).and_then(|text| text.parse::<u8>().ok());
        ensure!(pods.last().and_then(host) > Some(128), "the last pod did not get a high address");
        tell.good(&format!(
            "{} pods were added, none failed; the new policy assigns the highest free address",
            pods.len()
        ));
        Ok(pods)
    })
}

/// Adds one pod after the other, until enough have been added since the activation.
fn stream(runtime: &DemoRuntime<'_>, activated: &AtomicBool, come: &mpsc::Sender<Result<DemoPod>>) {
    let mut after = 0;
    for number in 1..=MOST {
        after += usize::from(activated.load(Ordering::Acquire));
        // The receiver is gone only if the demonstration has already failed.
        if come.send(runtime.add(&format!("pod-{number:02}"))).is_err() || after == AFTER {
            return;
        }
    }
}

/// Act three: the daemon is killed, and no pod loses its address.
fn crash<'a>(
    runtime: &DemoRuntime<'_>,
    node: DemoNode<'a>,
    pods: &[DemoPod],
    tell: &Teller,
) -> Result<DemoNode<'a>> {
    tell.act("3. SIGKILL");
    let before = node.allocations()?;
    let node = node.crash()?;
    tell.turn("kill -KILL tenured; tenured");
    let after = node.allocations()?;
    ensure!(before == after, "before the crash: {before:?}\nafter it: {after:?}");
    ensure!(after.len() == pods.len(), "{} pods own {} addresses", pods.len(), after.len());
    tell.good(&format!("tenurectl lists the same {} addresses and owners as before", after.len()));
    for pod in pods {
        let again = runtime.ask_again(pod)?;
        ensure!(again == pod.address, "{} had {}, and now gets {again}", pod.name, pod.address);
    }
    tell.good("a repeated ADD gets each pod the same address");
    let [first, .., last] = pods else { bail!("no pods") };
    tell.good(&format!("{} pings {}: {}", first.name, last.name, runtime.ping(first, last)?));
    Ok(node)
}

/// Act four: all pods are deleted.
fn delete(runtime: &DemoRuntime<'_>, node: &DemoNode<'_>, pods: &[DemoPod], tell: &Teller) -> Result<()> {
    tell.act("4. Deleting the pods");
    for pod in pods {
        runtime.delete(pod).with_context(|| node.log())?;
    }
    let left = node.allocations()?;
    ensure!(left.is_empty(), "left over: {left:?}");
    tell.good(&format!("{} pods were deleted, and no address is left over", pods.len()));
    Ok(())
}
