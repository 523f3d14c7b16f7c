//! `cargo xtask demo`: what tenure does, shown on this machine with real pods.
//!
//! All of it happens in an [`Enclave`], which the kernel takes away whatever way the demonstration ends.

mod enclave;
mod node;
mod pod;
mod tell;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Result, bail, ensure};

use self::enclave::Enclave;
use self::node::Node;
use self::pod::{NETWORK, Pod, Runtime};
use self::tell::Teller;
use crate::workspace::Workspace;
use crate::{command, tools};

/// How many pods come before the policy is activated, and how many after.
const BEFORE: usize = 5;
const AFTER: usize = 8;
/// How many may come in the meantime, before the demonstration is taken to have failed.
const MOST: usize = 200;

/// Builds tenure and shows it.
///
/// # Errors
/// When something does not go as promised.
pub(crate) fn demo(workspace: &Workspace) -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "the demonstration makes network namespaces: run it as root"
    );
    let tell = Teller::new();
    tell.act("Preparing");
    tools::apt(&tools::DEMO_PACKAGES)?;
    tools::rustup();
    tell.line("building: the first time takes some minutes, most of them for the compiler inside wasmtime");
    let packages = ["--package", "tenure-daemon", "--package", "tenure-ctl", "--package", "tenure-cni"];
    command::run(workspace.cargo().arg("build").args(packages))?;
    let enclave = Enclave::new()?;
    tell.line(
        "namespaces of its own are ready; the kernel removes them, and all in them, when this program ends",
    );
    show(&enclave, workspace, &tell)
}

/// The story, in four acts.
fn show(enclave: &Enclave, workspace: &Workspace, tell: &Teller) -> Result<()> {
    let binaries = workspace.binaries();
    let runtime = Runtime { enclave, binaries: &binaries };
    let node = Node::start(enclave, binaries.clone())?;
    tell.line("tenured serves, without a configuration file");
    let mut pods = first_pods(runtime, tell)?;
    pods.extend(activate(runtime, &node, tell)?);
    let node = crash(runtime, node, &pods, tell)?;
    delete(runtime, &node, &pods, tell)
}

/// Act one: two pods get addresses and reach each other.
fn first_pods(runtime: Runtime<'_>, tell: &Teller) -> Result<Vec<Pod>> {
    tell.act("1. Two pods, through the real bridge plugin");
    let (first, second) = (runtime.add("pod-a")?, runtime.add("pod-b")?);
    for pod in [&first, &second] {
        tell.good(&format!("{} has {}", pod.name, pod.address));
    }
    tell.good(&format!("{} pings {}: {}", first.name, second.name, runtime.ping(&first, &second)?));
    tell.good(&format!("{} pings {}: {}", second.name, first.name, runtime.ping(&second, &first)?));
    Ok(vec![first, second])
}

/// Act two: the rule changes while pods come.
fn activate(runtime: Runtime<'_>, node: &Node<'_>, tell: &Teller) -> Result<Vec<Pod>> {
    tell.act("2. Another policy, while pods come");
    let (come, coming) = mpsc::channel();
    let activated = &AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(move || stream(runtime, activated, &come));
        let mut pods: Vec<Pod> = Vec::new();
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
        let host = |pod: &Pod| pod.address.split(['.', '/']).nth(3).and_then(|text| text.parse::<u8>().ok());
        ensure!(pods.last().and_then(host) > Some(128), "the last pod was not given a high address");
        tell.good(&format!(
            "{} pods were added, none failed; the new rule gives the highest free address",
            pods.len()
        ));
        Ok(pods)
    })
}

/// Adds one pod after the other, until enough have come since the activation.
fn stream(runtime: Runtime<'_>, activated: &AtomicBool, come: &mpsc::Sender<Result<Pod>>) {
    let mut after = 0;
    for number in 1..=MOST {
        after += usize::from(activated.load(Ordering::Acquire));
        // The receiver is gone only when the demonstration has failed already.
        if come.send(runtime.add(&format!("pod-{number:02}"))).is_err() || after == AFTER {
            return;
        }
    }
}

/// Act three: the daemon dies, and nobody loses an address.
fn crash<'a>(runtime: Runtime<'_>, node: Node<'a>, pods: &[Pod], tell: &Teller) -> Result<Node<'a>> {
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
        ensure!(again == pod.address, "{} had {}, and is told {again}", pod.name, pod.address);
    }
    tell.good("every pod that asks again is given the address it has");
    let [first, .., last] = pods else { bail!("there are no pods") };
    tell.good(&format!("{} pings {}: {}", first.name, last.name, runtime.ping(first, last)?));
    Ok(node)
}

/// Act four: everything is given back.
fn delete(runtime: Runtime<'_>, node: &Node<'_>, pods: &[Pod], tell: &Teller) -> Result<()> {
    tell.act("4. The end");
    for pod in pods {
        runtime.delete(pod).with_context(|| node.log())?;
    }
    let left = node.allocations()?;
    ensure!(left.is_empty(), "left over: {left:?}");
    tell.good(&format!("{} pods were deleted, and no address is left over", pods.len()));
    Ok(())
}
