//! containerd with runc, driven through the container runtime interface as by a kubelet.

use std::collections::BTreeSet;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_e2e::containerd::{Containerd, Pod};
use tenure_e2e::{Daemon, Need, Suite, binaries, wait};
use tokio::task::JoinSet;

/// How long a pod may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// The number of pods to start, and how many at a time.
const PODS: usize = 24;
const AT_ONCE: usize = 8;

const NEEDS: &[Need] =
    &[Need::Root, Need::PLUGINS, Need::IPROUTE, Need::UTIL_LINUX, Need::CONTAINERD, Need::RUNC];

fn main() -> ExitCode {
    Suite::new()
        .test("pods_come_in_parallel_and_go_without_a_trace", NEEDS, || block_on(pods_come_and_go))
        .test("a_plugin_that_is_killed_at_a_deadline_leaves_nothing", NEEDS, || {
            block_on(killed_at_a_deadline)
        })
        .test("a_pods_event_says_why_a_late_daemon_fails_it_and_nothing_is_left", NEEDS, || {
            block_on(late_daemon)
        })
        .run()
}

fn block_on(test: impl AsyncFnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(test())
}

/// A containerd whose only network is a dual-stack bridge.
fn start(daemon: &Daemon) -> anyhow::Result<Containerd> {
    start_with(daemon, "0.4.0", &json!({ "socket": daemon.socket() }))
}

/// The same, with a version of CNI and more keys of `ipam`.
fn start_with(daemon: &Daemon, version: &str, more: &Value) -> anyhow::Result<Containerd> {
    let mut network = json!({
        "cniVersion": version,
        "name": "pods",
        "plugins": [{
            "type": "bridge",
            "bridge": "br0",
            "isGateway": true,
            "ipam": {
                "type": "tenure",
                "ranges": [[{ "subnet": "10.64.0.0/24" }], [{ "subnet": "fd64::/64" }]],
                "routes": [{ "dst": "0.0.0.0/0" }, { "dst": "::/0" }],
            },
        }],
    });
    let ipam = network.pointer_mut("/plugins/0/ipam").and_then(Value::as_object_mut).context("no ipam")?;
    ipam.extend(more.as_object().cloned().unwrap_or_default());
    Containerd::start(&daemon.plugin_directory(&["tenure"])?, &network)
}

/// The pods that tenure knows, by containerd's IDs, with their addresses.
fn known(daemon: &Daemon) -> anyhow::Result<BTreeSet<(String, Vec<String>)>> {
    let bare = |cidr: &Value| Some(cidr.as_str()?.split('/').next()?.to_owned());
    let entry = |allocation: Value| {
        let id = allocation.get("container_id")?.as_str()?.to_owned();
        let addresses = allocation.get("addresses")?.as_array()?;
        Some((id, addresses.iter().filter_map(bare).collect()))
    };
    daemon
        .allocations("pods")?
        .into_iter()
        .map(|allocation| entry(allocation.clone()).with_context(|| allocation.to_string()))
        .collect()
}

/// Starts the pods, several at a time.
async fn run_pods(containerd: &Containerd) -> anyhow::Result<Vec<Pod>> {
    let client = containerd.connect().await?;
    let mut running = JoinSet::new();
    let mut pods = Vec::new();
    for number in 0..PODS {
        if running.len() == AT_ONCE {
            pods.push(running.join_next().await.context("no pod is being started")???);
        }
        let mut client = client.clone();
        running.spawn(async move { client.run(&format!("pod-{number}"), PATIENCE).await });
    }
    while let Some(pod) = running.join_next().await {
        pods.push(pod??);
    }
    Ok(pods)
}

/// Stops each pod twice and removes it, several at a time.
async fn remove_pods(containerd: &Containerd, pods: &[Pod]) -> anyhow::Result<()> {
    let client = containerd.connect().await?;
    for some in pods.chunks(AT_ONCE) {
        let mut running = JoinSet::new();
        for pod in some {
            let (mut client, id) = (client.clone(), pod.id.clone());
            running.spawn(async move {
                client.stop(&id).await?;
                client.stop(&id).await?;
                client.remove(&id).await
            });
        }
        while let Some(removed) = running.join_next().await {
            removed??;
        }
    }
    Ok(())
}

async fn pods_come_and_go() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let containerd = start(&daemon)?;
    let pods = run_pods(&containerd).await?;
    let seen: BTreeSet<_> = pods.iter().map(|pod| (pod.id.clone(), pod.addresses.clone())).collect();
    let known_pods = known(&daemon)?;
    ensure!(known_pods == seen, "containerd has {seen:?}, tenure {known_pods:?}");
    let addresses: BTreeSet<_> = pods.iter().flat_map(|pod| &pod.addresses).collect();
    ensure!(addresses.len() == 2 * PODS, "pods share addresses: {addresses:?}");
    remove_pods(&containerd, &pods).await?;
    let left = known(&daemon)?;
    ensure!(left.is_empty(), "left behind: {left:?}");
    let namespaces = containerd.namespaces()?;
    ensure!(namespaces == 0, "containerd left {namespaces} namespaces");
    Ok(())
}

/// The daemon hangs, the caller times out, and containerd kills the plugin; its DEL meets the hanging daemon too.
async fn killed_at_a_deadline() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let containerd = start(&daemon)?;
    let mut client = containerd.connect().await?;
    let survivor = client.run("survivor", PATIENCE).await?;
    daemon.signal(Signal::STOP)?;
    let failed = client.run("unlucky", Duration::from_secs(5)).await;
    ensure!(failed.is_err(), "a pod started while the daemon was stopped: {failed:?}");
    daemon.signal(Signal::CONT)?;
    // A kubelet retries until containerd has cleaned up the first attempt.
    let retried = tokio::time::timeout(PATIENCE, async {
        loop {
            match client.run("unlucky", PATIENCE).await {
                Ok(pod) => break pod,
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    })
    .await
    .context("the retried pod")?;
    let expected: BTreeSet<_> =
        [&survivor, &retried].map(|pod| (pod.id.clone(), pod.addresses.clone())).into();
    wait::holds("the killed attempt to be undone", PATIENCE, || Ok(known(&daemon)? == expected))?;
    remove_pods(&containerd, &[survivor, retried]).await?;
    let left = known(&daemon)?;
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

/// A boot at which the daemon comes last. With CNI 1.0.0 a runtime has no STATUS to ask, so it starts pods: the first fails with an event
/// that says why, and leaves no sandbox behind; the second waits for the daemon.
async fn late_daemon() -> anyhow::Result<()> {
    let daemon = Daemon::prepare()?;
    // No socket is named: the run directory is the default one, in the enclave's own /run.
    let containerd = start_with(&daemon, "1.0.0", &json!({ "wait": 1 }))?;
    let mut client = containerd.connect().await?;
    let failed = client.run("early", PATIENCE).await;
    let event = format!("{:#}", failed.err().context("a pod started without a daemon")?);
    for part in
        ["cannot reach tenured at /run/tenure/cni.sock", "daemon-unreachable", "systemctl status tenured"]
    {
        ensure!(event.contains(part), "the event lacks {part:?}: {event}");
    }
    // Its DEL succeeded, so containerd could clean up.
    let namespaces = containerd.namespaces()?;
    ensure!(namespaces == 0, "the failed sandbox left {namespaces} namespaces");
    let spool = containerd.enclave().outside("/run/tenure/spool");
    ensure!(std::fs::read_dir(&spool)?.count() > 0, "the DEL is not spooled");

    let mut tenured = containerd
        .enclave()
        .command(binaries::find("tenured")?)
        .arg("--state-dir")
        .arg(daemon.state_directory())
        .arg("--config")
        .arg(daemon.path("tenured.toml"))
        .stdout(std::fs::File::create(daemon.path("tenured.log"))?)
        .stderr(Stdio::null())
        .spawn()?;
    let daemon = daemon.served_in(containerd.enclave().outside("/run/tenure"));
    let served = async {
        wait::holds("the spooled DEL to be taken in", PATIENCE, || {
            Ok(std::fs::read_dir(&spool)?.count() == 0)
        })?;
        let retried = tokio::time::timeout(PATIENCE, async {
            loop {
                match client.run("early", PATIENCE).await {
                    Ok(pod) => break pod,
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        });
        let pod = retried.await.context("the retried pod")?;
        ensure!(known(&daemon)? == BTreeSet::from([(pod.id, pod.addresses)]), "not the pod's addresses");
        anyhow::Ok(())
    };
    let served = served.await;
    // This ends nsenter; the daemon ends with the enclave.
    let _ = tenured.kill();
    tenured.wait()?;
    served
}
