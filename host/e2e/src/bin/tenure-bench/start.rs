//! A daemon with a large state: how long its start takes, and how much memory it uses.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;
use tenure_e2e::Daemon;
use tenure_rpc::client;
use tokio::runtime::Runtime;

use crate::load;

/// How often to check for the socket: much more often than a start takes.
const LOOK_AGAIN: Duration = Duration::from_micros(500);
/// The time limit for a start, on the slowest machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The number of ADDs and DELs that a daemon serves before its memory is measured.
const SERVED: u32 = 2_000;

/// The cost of a large state.
pub(crate) struct Cost {
    /// Resident megabytes with a thousand allocations.
    pub(crate) small: f64,
    /// Resident megabytes with the most allocations.
    pub(crate) large: f64,
    /// Seconds from the start of the program until its first ADD is durable, with the most allocations.
    pub(crate) start: f64,
}

/// Fills a daemon with up to `most` allocations, kills it and starts it again.
pub(crate) fn measure(runtime: &Runtime, most: u32) -> anyhow::Result<Cost> {
    let mut daemon = Daemon::start()?;
    let config = load::own_network("bench-start");
    runtime.block_on(load::fill(&daemon, &config, "small", 1_000))?;
    let small = resident(runtime, &daemon, &config)?;
    runtime.block_on(load::fill(&daemon, &config, "large", most.saturating_sub(1_000)))?;
    let mut starts = [Duration::ZERO; 5];
    for (number, start) in starts.iter_mut().enumerate() {
        *start = restart(runtime, &mut daemon, &config, number)?;
    }
    let large = resident(runtime, &daemon, &config)?;
    starts.sort_unstable();
    let [_, _, median, _, _] = starts;
    Ok(Cost { small, large, start: median.as_secs_f64() })
}

/// Kills the daemon and starts it again; returns the time until the first ADD is answered.
fn restart(
    runtime: &Runtime,
    daemon: &mut Daemon,
    config: &Value,
    number: usize,
) -> anyhow::Result<Duration> {
    daemon.kill()?;
    let socket = daemon.run_directory().join("cni.sock");
    // Remove the socket that the killed daemon left behind.
    fs::remove_file(&socket).context("the killed daemon's socket")?;
    let started = Instant::now();
    daemon.spawn()?;
    runtime.block_on(async {
        while !socket.exists() {
            anyhow::ensure!(
                started.elapsed() < LIMIT,
                "the daemon did not start serving: {}",
                daemon.log("")
            );
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let channel = client::connect(&socket).await?;
        load::add(channel, config.to_string().as_bytes(), format!("start-{number}")).await?;
        Ok(started.elapsed())
    })
}

/// The resident megabytes of a daemon after it has served requests.
fn resident(runtime: &Runtime, daemon: &Daemon, config: &Value) -> anyhow::Result<f64> {
    runtime.block_on(load::churn(daemon, config, SERVED))?;
    Ok(daemon.rss()? as f64 * 1024.0 / 1e6)
}
