//! ADDs on one network next to networks whose policy stalls: the worst possible neighbours.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use sha2::{Digest, Sha256};
use tenure_e2e::{Daemon, bomb};
use tenure_rpc::client;
use tenure_sdk_build::Builder;
use tokio::runtime::Runtime;

use crate::load;
use crate::neighbours::{Callers, Neighbours};
use crate::times::Times;

/// A policy that spins until its deadline.
const SPINNING: Callers = Callers { policy: "hostile", misbehave: Some("spin"), networks: 6, callers: 24 };
/// A policy that is being compiled.
const WAITING: Callers = Callers { policy: "bomb", misbehave: None, networks: 6, callers: 6 };

/// The times of a network's ADDs, alone and next to others.
pub(crate) struct Beside {
    pub(crate) alone: Times,
    pub(crate) spinning: Times,
    pub(crate) compiling: Times,
    /// The number of calls of spinning policies that were refused meanwhile.
    pub(crate) refused: u32,
    /// The number of snapshots taken meanwhile.
    pub(crate) snapshots: usize,
}

/// Measures ADDs alone, and next to each kind of neighbour.
pub(crate) fn measure(runtime: &Runtime, count: u32) -> anyhow::Result<Beside> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("no workspace")?;
    let target = std::env::temp_dir().join("tenure-bench-wasm");
    let hostile = Builder::new(workspace, target)?.component("tenure-hostile")?;

    // Each kind has a daemon of its own: the module would still be compiled while the others spin.
    let daemon = daemon_with("bomb", &wat::parse_str(bomb::component(2000))?)?;
    let waiting = Neighbours::start(&daemon.run_directory(), WAITING, false);
    let compiling = runtime.block_on(adds(&daemon, "compiling", count))?;
    waiting.stop()?;
    drop(daemon);

    let daemon = daemon_with("hostile", &hostile)?;
    let alone = runtime.block_on(adds(&daemon, "alone", count))?;
    let spinners = Neighbours::start(&daemon.run_directory(), SPINNING, true);
    let spinning = runtime.block_on(adds(&daemon, "spinning", count))?;
    let refused = spinners.stop()?;
    let names = std::fs::read_dir(daemon.state_directory())?.flatten();
    let is_snapshot = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("snapshot.");
    let snapshots = names.filter(|entry| is_snapshot(&entry.file_name())).count();
    Ok(Beside { alone, spinning, compiling, refused, snapshots })
}

/// A daemon with one more policy. A minute is longer than the measurement; the compiler's process has a lower priority
/// than the daemon.
fn daemon_with(name: &str, component: &[u8]) -> anyhow::Result<Daemon> {
    let mut daemon = Daemon::prepare()?;
    let digest: String = Sha256::digest(component).iter().map(|byte| format!("{byte:02x}")).collect();
    let path = daemon.path(&format!("{name}.wasm"));
    std::fs::write(&path, component)?;
    let policy = format!("[policies.{name}]\npath = \"{}\"\nsha256 = \"{digest}\"\n", path.display());
    daemon.configure(&format!("[sandbox]\ncompile_seconds = 60\n{policy}"))?;
    daemon.launch()?;
    Ok(daemon)
}

/// ADDs on a healthy network, one at a time.
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
