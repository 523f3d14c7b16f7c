//! A real API server and a real containerd as the witnesses of pods' addresses, whose DELs never come: each row of the table of evidence.
//!
//! The daemon is not in containerd's mount namespace, so it cannot see the pods' network namespaces: what the two say decides.

#[path = "witnesses/cluster.rs"]
mod cluster;
#[path = "witnesses/node.rs"]
mod node;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure_e2e::containerd::Pod;
use tenure_e2e::{Need, Suite, wait};
use tenure_fixtures::control_plane::proxy::ProxyFault;

use node::WitnessedNode;

/// The longest that anything may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(180);

const NEEDS: &[Need] =
    &[Need::Root, Need::PLUGINS, Need::IPROUTE, Need::UTIL_LINUX, Need::CONTAINERD, Need::RUNC];

fn main() -> ExitCode {
    Suite::new()
        .test("an_address_is_freed_once_the_api_server_and_containerd_both_say_gone", NEEDS, || {
            block_on(both)
        })
        .test("an_error_of_the_api_server_frees_nothing_although_containerd_says_gone", NEEDS, || {
            block_on(errors)
        })
        .test("another_uid_and_a_newer_sandbox_end_the_sandbox_before", NEEDS, || block_on(replaced))
        .test("a_containerd_that_is_silent_frees_nothing", NEEDS, || block_on(silent))
        .run()
}

fn block_on(test: impl AsyncFnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(test())
}

/// Rows with one witness, in both directions, and then with both.
async fn both() -> anyhow::Result<()> {
    let mut node = WitnessedNode::start()?;
    let living = node.run("living").await?;
    let forced = node.run("forced").await?;
    let done = node.run("done").await?;
    let lost = node.run("lost").await?;
    // containerd has all of them; the API server lacks one, and another has finished.
    node.cluster.delete("forced")?;
    node.cluster.succeed("done")?;
    // The API server has it; containerd lost it.
    node.lose(&lost).await?;
    wait::holds("two findings about pods that are gone", LIMIT, || {
        Ok(node.findings()?.iter().filter(|kind| *kind == "pod-gone").count() == 2)
    })?;
    node.looks_twice().await?;
    node.expect(&[&living, &forced, &done, &lost])?;
    // Now containerd says the same of these.
    node.lose(&forced).await?;
    node.lose(&done).await?;
    node.becomes(&[&living, &lost])?;
    node.looks_twice().await?;
    node.expect(&[&living, &lost])?;
    // And the API server of this one.
    node.cluster.delete("lost")?;
    node.becomes(&[&living])?;
    node.end(&living, "living").await
}

/// The API server's answer about each pod.
const FAULTS: &[(&str, ProxyFault)] = &[
    ("refused-403", ProxyFault::Refuse(403)),
    ("refused-404", ProxyFault::Refuse(404)),
    ("refused-500", ProxyFault::Refuse(500)),
    ("reply-lost", ProxyFault::LoseReply),
];

async fn errors() -> anyhow::Result<()> {
    let mut node = WitnessedNode::start()?;
    let failed = Arc::<Mutex<BTreeMap<&str, usize>>>::default();
    let count = Arc::clone(&failed);
    node.cluster.server.proxy.choose(move |request| {
        let of = |(pod, _): &&(&str, ProxyFault)| {
            request.method == "GET" && request.path.ends_with(&format!("/pods/{pod}"))
        };
        let Some((pod, fault)) = FAULTS.iter().find(of) else { return ProxyFault::Pass };
        *count.lock().unwrap_or_else(PoisonError::into_inner).entry(*pod).or_default() += 1;
        *fault
    });
    let mut pods = Vec::new();
    for (name, _) in FAULTS {
        let pod = node.run(name).await?;
        node.cluster.delete(name)?;
        node.lose(&pod).await?;
        pods.push(pod);
    }
    let all: Vec<&Pod> = pods.iter().collect();
    loop {
        node.looks_twice().await?;
        node.expect(&all)?;
        let failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
        if FAULTS.iter().all(|(pod, _)| failed.get(pod).is_some_and(|count| *count >= 3)) {
            break;
        }
    }
    node.cluster.server.proxy.choose(|_| ProxyFault::Pass);
    node.becomes(&[])
}

async fn replaced() -> anyhow::Result<()> {
    let mut node = WitnessedNode::start()?;
    // Another pod of the name, and another sandbox of the same pod.
    let old = node.run("again").await?;
    let first = node.run("renewed").await?;
    node.cluster.delete("again")?;
    let new = node.run("again").await?;
    node.looks_twice().await?;
    node.expect(&[&old, &new, &first])?;
    node.lose(&old).await?;
    node.becomes(&[&new, &first])?;
    node.lose(&first).await?;
    let second = node.run_once_more("renewed").await?;
    node.becomes(&[&new, &second])?;
    node.looks_twice().await?;
    node.expect(&[&new, &second])?;
    node.end(&new, "again").await?;
    node.end(&second, "renewed").await
}

async fn silent() -> anyhow::Result<()> {
    let mut node = WitnessedNode::start()?;
    let (running, lost) = (node.run("running").await?, node.run("lost").await?);
    // Nobody has asked the API server about it before containerd falls silent.
    node.cluster.server.proxy.hold_watches(true);
    node.lose(&lost).await?;
    node.containerd.stop()?;
    node.cluster.delete("running")?;
    node.cluster.delete("lost")?;
    node.cluster.server.proxy.hold_watches(false);
    wait::holds("the condition", LIMIT, || node.has_condition("runtime-unreachable"))?;
    let before = node.cluster.server.proxy.requests();
    wait::holds("the API server to be asked about both once more", LIMIT, || {
        Ok(node.cluster.server.proxy.requests() >= before + 2)
    })?;
    node.expect(&[&running, &lost])?;
    node.containerd.start_again()?;
    node.becomes(&[&running])?;
    wait::holds("the condition to end", LIMIT, || Ok(!node.has_condition("runtime-unreachable")?))?;
    node.looks_twice().await?;
    node.expect(&[&running])?;
    node.lose(&running).await?;
    node.becomes(&[])?;
    wait::holds("the event", LIMIT, || node.cluster.has_event("lost", "AddressReclaimed"))
}
