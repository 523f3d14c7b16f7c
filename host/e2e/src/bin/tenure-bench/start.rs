//! A daemon with a large state: how long it starts, and how much memory it takes.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;
use tenure_e2e::Daemon;
use tenure_rpc::client;
use tenure_rpc::v1::Invocation;
use tenure_rpc::v1::cni_client::CniClient;
use tokio::runtime::Runtime;

use crate::load;

/// How often the socket is looked for: much less than a start takes.
const LOOK_AGAIN: Duration = Duration::from_micros(500);
/// How long a start may take on the slowest machine.
const LIMIT: Duration = Duration::from_secs(60);

/// What a large state costs.
pub(crate) struct Cost {
    /// Resident megabytes with a thousand allocations.
    pub(crate) small: f64,
    /// Resident megabytes with the most.
    pub(crate) large: f64,
    /// Seconds from the start of the program until it answers STATUS, with the most.
    pub(crate) start: f64,
}

/// Fills a daemon with up to `most` allocations, and kills and starts it.
pub(crate) fn measure(runtime: &Runtime, most: u32) -> anyhow::Result<Cost> {
    let mut daemon = Daemon::start()?;
    let config = json!({
        "cniVersion": "1.1.0", "name": "bench-start", "type": "bench",
        "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.64.0.0/10" }]] },
    });
    runtime.block_on(load::fill(&daemon, &config, "small", 1_000))?;
    restart(runtime, &mut daemon, &config.to_string())?;
    let small = resident(&daemon)?;
    runtime.block_on(load::fill(&daemon, &config, "large", most.saturating_sub(1_000)))?;
    let mut starts = [Duration::ZERO; 5];
    for start in &mut starts {
        *start = restart(runtime, &mut daemon, &config.to_string())?;
    }
    let large = resident(&daemon)?;
    starts.sort_unstable();
    let [_, _, median, _, _] = starts;
    Ok(Cost { small, large, start: median.as_secs_f64() })
}

/// Kills the daemon and starts it again; how long until a runtime has its first answer.
fn restart(runtime: &Runtime, daemon: &mut Daemon, config: &str) -> anyhow::Result<Duration> {
    daemon.kill()?;
    let socket = daemon.run_directory().join("cni.sock");
    // What a killed daemon leaves behind nobody listens at.
    fs::remove_file(&socket).context("the killed daemon's socket")?;
    let started = Instant::now();
    daemon.spawn()?;
    let invocation = Invocation { config: config.as_bytes().to_vec(), ..Invocation::default() };
    runtime.block_on(async {
        while !socket.exists() {
            anyhow::ensure!(started.elapsed() < LIMIT, "the daemon does not serve: {}", daemon.log(""));
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let channel = client::connect(&socket).await?;
        CniClient::new(channel).status(invocation).await?;
        Ok(started.elapsed())
    })
}

fn resident(daemon: &Daemon) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid()?.as_raw_nonzero()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024.0 / 1e6)
}
