//! A daemon with a large state: how long it starts, and how much memory it takes.

use std::time::{Duration, Instant};

use serde_json::json;
use tenure_e2e::Daemon;
use tokio::runtime::Runtime;

use crate::load;

/// Resident KiB with a thousand allocations and with `most`, and how long a start with `most` takes until it serves.
pub(crate) fn measure(runtime: &Runtime, most: u32) -> anyhow::Result<(u64, u64, Duration)> {
    let mut daemon = Daemon::start()?;
    let config = json!({
        "cniVersion": "1.0.0", "name": "bench-memory", "type": "bench",
        "ipam": { "type": "tenure", "ranges": [[{ "subnet": "10.64.0.0/10" }]] },
    });
    runtime.block_on(load::fill(&daemon, &config, "small", 1_000))?;
    restart(&mut daemon)?;
    let small = resident(&daemon)?;
    runtime.block_on(load::fill(&daemon, &config, "large", most.saturating_sub(1_000)))?;
    let mut starts: Vec<Duration> = (0..3).map(|_| restart(&mut daemon)).collect::<anyhow::Result<_>>()?;
    starts.sort_unstable();
    let large = resident(&daemon)?;
    Ok((small, large, starts.get(1).copied().unwrap_or_default()))
}

/// Kills the daemon and starts it again; how long until its socket answers.
fn restart(daemon: &mut Daemon) -> anyhow::Result<Duration> {
    daemon.kill()?;
    let started = Instant::now();
    daemon.start_again()?;
    Ok(started.elapsed())
}

fn resident(daemon: &Daemon) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid()?.as_raw_nonzero()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse().ok());
    kib.ok_or_else(|| anyhow::anyhow!("no VmRSS"))
}
