//! An hour without the API server, by the daemon's clock port: a whole daemon in this process, beside a real API server and the built operator.
//!
//! What waits for an event waits by the real clock, so that loops make many passes; each decision about time is by the port.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU64;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tenure_fixtures::control_plane::{ADMIN_TOKEN, ControlPlane, kubelets_node};
use tenure_fixtures::node::binaries;
use tenure_fixtures::node::client::Client;
use tenure_fixtures::node::journal::Pod;

use super::*;

/// The time limit for any wait, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// The objects of the cluster's own group.
const GROUP: &str = "/apis/ipam.tenure.dev/v1alpha1";

/// Pods that live at any time. They come and go, and need two blocks.
const LIVING: u64 = 20;

/// The kernel's clocks, so many seconds later.
#[derive(Default)]
struct LateClock(AtomicU64);

impl LateClock {
    fn late(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

impl Clock for LateClock {
    fn now(&self) -> Moment {
        let Moment { boot_ns, wall_ms } = KernelClock.now();
        let late = self.0.load(Ordering::SeqCst);
        Moment { boot_ns: boot_ns + late * 1_000_000_000, wall_ms: wall_ms + late * 1000 }
    }

    fn monotonic(&self) -> Duration {
        KernelClock.monotonic() + self.late()
    }
}

/// An operator, which is killed at the end.
struct Operator(Child);

impl Operator {
    fn start(kubeconfig: &Path, log: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(binaries::find("tenure-operator")?);
        command.args(["--identity", "hour", "--kubeconfig"]).arg(kubeconfig);
        let log = File::options().create(true).append(true).open(log)?;
        Ok(Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?))
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Repeats a probe until it returns something.
async fn until<T>(what: &str, mut probe: impl AsyncFnMut() -> Option<T>) -> anyhow::Result<T> {
    let found = async {
        loop {
            if let Some(found) = probe().await {
                return found;
            }
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, found).await.with_context(|| format!("waiting for {what}"))
}

/// Creates the definitions, a pool of 16 blocks of 13 usable addresses, and the node.
async fn install(create: &impl AsyncFn(&str, Value) -> anyhow::Result<Value>) -> anyhow::Result<()> {
    for definition in tenure_cluster::definitions::definitions() {
        let definition = serde_json::to_value(definition)?;
        create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await?;
    }
    create("/api/v1/namespaces", json!({ "metadata": { "name": "tenure-system" } })).await?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    create("/api/v1/nodes", kubelets_node("late", "late", boot.trim())).await?;
    let spec = json!({ "ipv4": { "cidrs": ["10.99.0.0/24"], "blockPrefix": 28 }, "cooldownSeconds": 60 });
    let pool = json!({
        "apiVersion": "ipam.tenure.dev/v1alpha1", "kind": "AddressPool", "metadata": { "name": "pods" }, "spec": spec,
    });
    until("the definitions", async || create(&format!("{GROUP}/addresspools"), pool.clone()).await.ok())
        .await?;
    Ok(())
}

/// The leased blocks, each with its uid.
fn blocks(list: &Value) -> BTreeMap<String, String> {
    let word =
        |item: &Value, path: &str| item.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let items = list["items"].as_array().into_iter().flatten();
    items.map(|item| (word(item, "/spec/cidr"), word(item, "/metadata/uid"))).collect()
}

fn pod(number: u64) -> Pod {
    Pod { network: "pods".to_owned(), container: format!("pod-{number}") }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_without_the_api_server_fails_no_add_and_frees_nothing() {
    an_hour().await.unwrap();
}

async fn an_hour() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name);
    let mut plane = ControlPlane::start()?;
    let kubeconfig = plane.kubeconfig(ADMIN_TOKEN)?;
    let client = until("the API server", async || {
        let client = tenure_cluster::client::connect(Some(&kubeconfig)).await.ok()?;
        client.request_text(http::Request::get("/readyz").body(Vec::new()).ok()?).await.ok().map(|_| client)
    });
    let client = client.await?;
    let ask = async |verb: &str, path: &str, body: Option<Value>| {
        let body = body.map(|body| body.to_string()).unwrap_or_default().into_bytes();
        let request =
            http::Request::builder().method(verb).uri(path).header("content-type", "application/json");
        anyhow::Ok(client.request::<Value>(request.body(body)?).await?)
    };
    let create = async |path: &str, object: Value| ask("POST", path, Some(object)).await;
    let leased = async || anyhow::Ok(blocks(&ask("GET", &format!("{GROUP}/ipblocks"), None).await?));
    install(&create).await?;
    let mut operator = Operator::start(&kubeconfig, &path("operator.log"))?;

    let text = format!(
        "[node]\nname = \"late\"\nmachine_id = \"late\"\nsystem_uuid = \"firmware of late\"\n[host_local]\nignore = true\n\
         [cluster]\nnetworks = {{ pods = [\"pods\"] }}\nkubeconfig = \"{}\"\npreallocation = 2\nwrite_seconds = 1\n\
         [networks.pods]\nipam = {{ type = \"tenure\", policy = \"cluster-range\", pools = [\"pods\"] }}\n",
        kubeconfig.display()
    );
    std::fs::write(path("tenured.toml"), text)?;
    let file = ConfigFile::new(Some(path("tenured.toml")));
    let config = file.read()?;
    let (clock, run_dir, state_dir) = (Arc::new(LateClock::default()), path("run"), path("state"));
    let outside = Surroundings {
        config_file: Arc::new(file),
        run_dir: &run_dir,
        state_dir: &state_dir,
        identity: crate::identity::read(&config.node, None)?,
        clock: Arc::clone(&clock) as _,
        compiler: Compiler::InProcess,
        log: log(),
        reloads: crate::parts::ReloadRequests { hangups: tenure_supervise::hangups()?, followed: None },
    };
    let app = App::build(config, outside)?;
    let running = tokio::spawn(async move { app.run(&mut Signals::listen().unwrap()).await });
    let node = until("the daemon", async || Client::connect(&run_dir).await.ok()).await?;
    let network = json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure" } });
    for number in 0..LIVING {
        until("an address", async || node.add(&pod(number), &network).await.ok()).await?;
    }
    // What it holds when the API server goes away is all that it has asked for.
    let held = async || {
        let said = ask("GET", &format!("{GROUP}/nodeipams/late"), None).await.ok()?;
        let wants = said.pointer("/spec/demand/0/want")?.as_u64()?;
        let pair = |held: &Value| Some((held["cidr"].as_str()?.to_owned(), held["uid"].as_str()?.to_owned()));
        let held = said.pointer("/spec/held")?.as_array()?.iter();
        let held = held.map(pair).collect::<Option<BTreeMap<String, String>>>()?;
        (held.len() as u64 >= wants).then_some(held)
    };
    let settled = async || {
        let (held, leased) = (held().await?, leased().await.ok()?);
        (held.len() >= 2 && held == leased).then_some(held)
    };
    let before = until("the blocks", settled).await?;

    plane.stop_server()?;
    for minute in 0..60 {
        clock.0.fetch_add(60, Ordering::SeqCst);
        // Its agent makes a pass or two each minute.
        sleep(Duration::from_millis(250)).await;
        node.del(&pod(minute)).await?;
        let added = node.add(&pod(minute + LIVING), &network).await;
        added.with_context(|| format!("an ADD after {minute} minutes"))?;
        ensure!(!running.is_finished(), "the daemon has ended");
    }
    let owners = node.owners().await?;
    ensure!(owners.len() as u64 == LIVING, "{owners:?}");

    plane.start_server()?;
    until("the API server to be back", async || leased().await.ok()).await?;
    if operator.0.try_wait()?.is_some() {
        // It could not renew its Lease; Kubernetes starts it again.
        operator = Operator::start(&kubeconfig, &path("operator.log"))?;
    }
    // What it holds is what it held, and the API server says so.
    let has_all =
        |blocks: &BTreeMap<String, String>| before.iter().all(|(cidr, uid)| blocks.get(cidr) == Some(uid));
    node.add(&pod(1000), &network).await?;
    let after = until("the blocks again", settled).await?;
    ensure!(has_all(&after), "{before:?} before, {after:?} after");
    node.del(&pod(1000)).await?;
    ensure!(node.owners().await? == owners, "an address was freed");
    drop(operator);
    running.abort();
    Ok(())
}
