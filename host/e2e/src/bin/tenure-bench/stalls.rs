//! ADDs of one network beside networks whose policy does not do its work: the worst neighbours that there are.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tenure_e2e::{Daemon, bomb};
use tenure_rpc::client;
use tenure_sdk_build::Builder;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::load;
use crate::times::Times;

/// Networks whose policy spins until its deadline, and how many call it.
const SPINNING: (usize, usize) = (6, 24);
/// Callers of a policy that is being compiled.
const WAITING: usize = 6;

/// What a network's ADDs took by itself and beside others.
pub(crate) struct Beside {
    pub(crate) alone: Times,
    pub(crate) spinning: Times,
    pub(crate) compiling: Times,
    /// Whether a snapshot was taken beside the policies that spin.
    pub(crate) snapshots: usize,
}

/// Measures so many ADDs by themselves, and beside each kind of neighbour.
pub(crate) fn measure(runtime: &Runtime, count: u32) -> anyhow::Result<Beside> {
    let mut daemon = Daemon::prepare()?;
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("no workspace")?;
    let target = std::env::temp_dir().join("tenure-bench-wasm");
    let hostile = Builder::new(workspace, target)?.component("tenure-hostile")?;
    let mut config = String::new();
    for (name, component) in [("hostile", hostile), ("bomb", wat::parse_str(bomb::component(2000))?)] {
        let digest: String = Sha256::digest(&component).iter().map(|byte| format!("{byte:02x}")).collect();
        let path = daemon.path(&format!("{name}.wasm"));
        std::fs::write(&path, component)?;
        config += &format!("[policies.{name}]\npath = \"{}\"\nsha256 = \"{digest}\"\n", path.display());
    }
    // A minute, for as long as this takes; the compiler's process gives way to the daemon's.
    daemon.configure(&format!("[sandbox]\ncompile_seconds = 60\n{config}"))?;
    daemon.launch()?;
    let (compiling, alone) = runtime.block_on(async {
        let stop = Arc::new(AtomicBool::new(false));
        let calls = call(&daemon, &stop, WAITING, WAITING, "bomb", None).await?;
        let compiling = adds(&daemon, "compiling", count).await?;
        end(&stop, calls).await?;
        anyhow::Ok((compiling, adds(&daemon, "alone", count).await?))
    })?;
    let (spinning, snapshots) = runtime.block_on(async {
        let stop = Arc::new(AtomicBool::new(false));
        let calls = call(&daemon, &stop, SPINNING.0, SPINNING.1, "hostile", Some("spin")).await?;
        // A log that grows until a snapshot is due.
        let growing = grow(&daemon, &stop).await?;
        let spinning = adds(&daemon, "spinning", count).await?;
        end(&stop, calls).await?;
        growing.await??;
        let names = std::fs::read_dir(daemon.state_directory())?.flatten();
        let is_snapshot = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("snapshot.");
        anyhow::Ok((spinning, names.filter(|entry| is_snapshot(&entry.file_name())).count()))
    })?;
    Ok(Beside { alone, spinning, compiling, snapshots })
}

/// ADDs of a network that nothing is wrong with, one after the other.
async fn adds(daemon: &Daemon, prefix: &str, count: u32) -> anyhow::Result<Times> {
    let channel = client::connect(&daemon.run_directory().join("cni.sock")).await?;
    let config = load::own_network("bench-beside").to_string().into_bytes();
    load::add(channel.clone(), &config, format!("{prefix}-first")).await?;
    let mut took = Vec::new();
    for number in 0..count {
        let started = Instant::now();
        load::add(channel.clone(), &config, format!("{prefix}-{number}")).await?;
        took.push(started.elapsed());
    }
    Ok(Times::new(took))
}

/// Callers that ask again and again, and are refused.
async fn call(
    daemon: &Daemon,
    stop: &Arc<AtomicBool>,
    networks: usize,
    callers: usize,
    policy: &str,
    misbehave: Option<&str>,
) -> anyhow::Result<Vec<JoinHandle<()>>> {
    let channel = client::connect(&daemon.run_directory().join("cni.sock")).await?;
    let caller = |caller: usize| {
        let mut config = load::own_network(&format!("bench-{policy}-{}", caller % networks));
        if let Some(ipam) = config.pointer_mut("/ipam").and_then(Value::as_object_mut) {
            ipam.insert("policy".into(), json!(policy));
            ipam.extend(misbehave.map(|way| ("misbehave".to_owned(), json!(way))));
        }
        let (stop, channel, config) = (Arc::clone(stop), channel.clone(), config.to_string().into_bytes());
        tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                // To be refused is what these are for; a runtime takes a moment before it tries again.
                drop(load::add(channel.clone(), &config, format!("caller-{caller}")).await);
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        })
    };
    Ok((0..callers).map(caller).collect())
}

/// Lets the log grow by a network whose long configuration changes with each ADD.
async fn grow(daemon: &Daemon, stop: &Arc<AtomicBool>) -> anyhow::Result<JoinHandle<anyhow::Result<()>>> {
    let channel = client::connect(&daemon.run_directory().join("cni.sock")).await?;
    let stop = Arc::clone(stop);
    Ok(tokio::spawn(async move {
        for number in 0.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let mut config = load::own_network("bench-growing");
            if let Some(ipam) = config.pointer_mut("/ipam").and_then(Value::as_object_mut) {
                ipam.insert("padding".into(), json!(format!("{number}{}", "x".repeat(16 << 10))));
            }
            load::add(channel.clone(), config.to_string().as_bytes(), format!("grows-{number}")).await?;
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        Ok(())
    }))
}

async fn end(stop: &AtomicBool, calls: Vec<JoinHandle<()>>) -> anyhow::Result<()> {
    stop.store(true, Ordering::Relaxed);
    for call in calls {
        call.await?;
    }
    Ok(())
}
