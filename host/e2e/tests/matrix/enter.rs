//! Brings a node into a situation.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, ensure};
use futures_util::stream::{self, StreamExt as _};
use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_e2e::matrix::Situation;
use tenure_e2e::mount::{self, Mount};
use tenure_e2e::{Attachment, bomb, strace, wait};
use tenure_rpc::client;
use tenure_rpc::v1::admin_client::AdminClient;
use tenure_rpc::v1::{ImportEntry, ImportHead, ImportPart};
use tokio::sync::oneshot;

use crate::component;
use crate::node::{LIMIT, Node};

/// A bound on the requests that fill a pool or a disk.
const MOST: usize = 5000;

/// Brings a prepared node into a situation.
pub(crate) fn enter(situation: Situation, node: &mut Node) -> anyhow::Result<()> {
    match situation {
        Situation::Calm => populated(node, ""),
        Situation::Down => {
            populated(node, "")?;
            node.daemon.kill()
        }
        Situation::Stopping => stopping(node),
        Situation::ImportUnderWay => importing(node),
        Situation::ImportCutOff => {
            importing(node)?;
            cut_off(node)?;
            node.daemon.launch()
        }
        Situation::SourceGone => {
            importing(node)?;
            cut_off(node)?;
            fs::remove_dir_all(node.daemon.path("networks"))?;
            node.daemon.reboot()?;
            node.daemon.launch()
        }
        Situation::PolicyLoading => {
            beside_a_bomb(node)?;
            ipam(node, "policy", json!("bomb"));
            node.write_files()
        }
        Situation::Shadowed => {
            populated(node, "")?;
            node.daemon.ctl(&["policy", "load", &node.path("mine.wasm"), "--name", "mine"])?;
            node.daemon.ctl(&["policy", "shadow", "pods", "mine"]).map(drop)
        }
        Situation::Exchanging => exchanging(node),
        Situation::PoolFull => fill(node, "").map(drop),
        Situation::DiskFull => full_disk(node),
        Situation::DiskFailing => {
            populated(node, "")?;
            let trace = node.daemon.path("trace");
            let tracer = strace::always("fdatasync,fsync", "error=EIO", node.daemon.pid()?, &trace)?;
            node.causes.push(Box::new(tracer));
            // The first failure is how the daemon learns of it.
            node.daemon.shim()?.call("ADD", &Attachment::of("fails"), &node.config)?.error().map(drop)
        }
    }
}

fn populated(node: &mut Node, more: &str) -> anyhow::Result<()> {
    node.start(more)?;
    node.populate()
}

/// Sets a key of the network's `ipam` object.
fn ipam(node: &mut Node, key: &str, value: Value) {
    if let Some(ipam) = node.config.pointer_mut("/ipam").and_then(Value::as_object_mut) {
        ipam.insert(key.to_owned(), value);
    }
}

/// Starts a daemon whose configuration names a policy that compiles for minutes.
fn beside_a_bomb(node: &mut Node) -> anyhow::Result<()> {
    let path = node.daemon.path("bomb.wasm");
    fs::write(&path, wat::parse_str(bomb::component(2000))?)?;
    node.configure(&format!("[sandbox]\ncompile_seconds = 600\n{}", component::entry("bomb", &path)?))?;
    node.daemon.launch()?;
    let seconds = LIMIT.as_secs().to_string();
    node.daemon.ctl(&["status", "--wait", &seconds]).map(drop)
}

/// The policy that misbehaves.
fn hostile_entry(node: &Node) -> anyhow::Result<String> {
    let hostile = component::build("tenure-hostile", &node.daemon)?;
    component::entry("hostile", &hostile)
}

/// A network whose policy spins for as long as the daemon lives.
fn stopping(node: &mut Node) -> anyhow::Result<()> {
    let limits = "[limits]\ndrain_seconds = 300\n[sandbox]\ndeadline_ms = 600000\n";
    let more = format!("{limits}{}", hostile_entry(node)?);
    populated(node, &more)?;
    let spinning = json!({
        "cniVersion": "1.1.0",
        "name": "spinning",
        "ipam": { "type": "tenure", "policy": "hostile", "misbehave": "spin", "ranges": [[{ "subnet": "10.95.0.0/24" }]] },
    });
    let input = serde_json::to_vec(&spinning)?;
    let caller = node.daemon.shim()?.start("ADD", &Attachment::of("spins"), &input)?;
    node.causes.push(Box::new(caller));
    wait::holds("the request to be under way", LIMIT, || {
        Ok(node.daemon.ctl(&["status"])?.get("in_flight").and_then(Value::as_u64) > Some(0))
    })?;
    node.daemon.signal(Signal::TERM)?;
    wait::holds("the daemon to stop", LIMIT, || Ok(!node.daemon.log("stopping").is_empty()))
}

/// Ends when dropped: another program that imports into the network.
struct Importer {
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<anyhow::Result<()>>>,
}

impl Drop for Importer {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn importing(node: &mut Node) -> anyhow::Result<()> {
    populated(node, "")?;
    let socket = node.daemon.run_directory().join("admin.sock");
    let config = node.config.to_string().into_bytes();
    let (end, ended) = oneshot::channel::<()>();
    let (began, begins) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let head =
                ImportHead { network: "pods".to_owned(), config, apply: true, ..ImportHead::default() };
            let entry = ImportEntry {
                container_id: "half".to_owned(),
                interface: "eth0".to_owned(),
                addresses: vec!["10.93.0.201".to_owned()],
                ..ImportEntry::default()
            };
            let first = ImportPart { head: Some(head), entries: vec![entry] };
            let parts = stream::iter([first]).chain(stream::pending());
            let channel = client::connect(&socket).await?;
            let mut answer = AdminClient::new(channel).import_all(parts).await?.into_inner();
            ensure!(answer.message().await?.is_some(), "no answer to the first part");
            began.send(())?;
            let _ = ended.await;
            Ok(())
        })
    });
    node.causes.push(Box::new(Importer { end: Some(end), thread: Some(thread) }));
    begins.recv_timeout(LIMIT).context("the import did not begin")
}

/// Kills the daemon, and with it the import.
fn cut_off(node: &mut Node) -> anyhow::Result<()> {
    node.daemon.kill()?;
    node.causes.clear();
    Ok(())
}

/// A command that runs until it is dropped.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn exchanging(node: &mut Node) -> anyhow::Result<()> {
    beside_a_bomb(node)?;
    node.populate()?;
    let mut command = Command::new(tenure_e2e::binaries::find("tenurectl")?);
    command.arg("--run-dir").arg(node.daemon.run_directory());
    command.args(["--timeout", "600", "policy", "activate", "pods", "bomb"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    node.causes.push(Box::new(Background(child)));
    Ok(())
}

/// Gives every address of a small pool to a pod.
fn fill(node: &mut Node, more: &str) -> anyhow::Result<Vec<Attachment>> {
    ipam(node, "ranges", json!([[{ "subnet": "10.93.0.0/28" }]]));
    populated(node, more)?;
    let shim = node.daemon.shim()?;
    let mut pods = Vec::new();
    for number in 0..MOST {
        let pod = Attachment::of(format!("fill-{number}"));
        if !shim.call("ADD", &pod, &node.config)?.succeeded {
            return Ok(pods);
        }
        pods.push(pod);
    }
    anyhow::bail!("the pool is never full")
}

/// The file that fills a disk, until it is dropped.
struct Ballast(PathBuf);

impl Drop for Ballast {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn full_disk(node: &mut Node) -> anyhow::Result<()> {
    mount::private_namespace()?;
    let disk = Mount::tmpfs(32 << 20)?;
    ipam(node, "ranges", json!([[{ "subnet": "10.93.0.0/16" }]]));
    fs::create_dir(disk.path("state"))?;
    symlink(disk.path("state"), node.daemon.state_directory())?;
    populated(node, "")?;
    disk.fill("ballast", 0)?;
    node.causes.push(Box::new(Ballast(disk.path("ballast"))));
    node.disks.push(disk);
    let shim = node.daemon.shim()?;
    for number in 0..MOST {
        let pod = Attachment::of(format!("fill-{number}"));
        if !shim.call("ADD", &pod, &node.config)?.succeeded {
            return Ok(());
        }
    }
    anyhow::bail!("the disk is never full")
}
