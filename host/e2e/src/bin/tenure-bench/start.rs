//! A daemon with a large state: how long it takes to start, how much memory and disk it uses, and how long a list takes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;
use tenure_e2e::{Daemon, binaries};
use tenure_rpc::client;
use tokio::runtime::Runtime;

use crate::load;

/// How often the socket is checked for: far less than a start takes.
const LOOK_AGAIN: Duration = Duration::from_micros(500);
/// How long a start may take on the slowest machine.
const LIMIT: Duration = Duration::from_secs(60);
/// How long the files before a new snapshot may take to be removed.
const SWEPT: Duration = Duration::from_millis(50);

/// ADDs and DELs that a daemon has served before its memory is measured.
const SERVED: u32 = 2_000;

/// The cost of a state of some size.
pub(crate) struct Cost {
    /// Resident megabytes.
    pub(crate) memory: f64,
    /// Seconds from the start of the program until its first ADD is durable.
    pub(crate) start: f64,
    /// The state directory right after a snapshot, and that snapshot, in megabytes.
    pub(crate) disk: Option<Disk>,
    /// A list of everything.
    pub(crate) list: List,
}

/// Sizes in megabytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Disk {
    pub(crate) directory: f64,
    pub(crate) snapshot: f64,
}

/// `tenurectl allocations`.
pub(crate) struct List {
    pub(crate) seconds: f64,
    /// The highest resident memory of `tenurectl`, in megabytes.
    pub(crate) memory: f64,
}

/// Returns the resident megabytes of a daemon with `count` allocations.
pub(crate) fn memory(runtime: &Runtime, count: u32) -> anyhow::Result<f64> {
    let daemon = Daemon::start()?;
    let config = load::own_network("bench-start");
    runtime.block_on(load::fill(&daemon, &config, "small", count))?;
    resident(runtime, &daemon, &config)
}

/// Fills a daemon with `count` allocations, and kills and restarts it.
pub(crate) fn measure(runtime: &Runtime, count: u32) -> anyhow::Result<Cost> {
    let mut daemon = Daemon::start()?;
    let config = load::own_network("bench-start");
    let disk = watching(&daemon.state_directory(), || {
        runtime.block_on(load::fill(&daemon, &config, "large", count))
    })?;
    let mut starts = [Duration::ZERO; 3];
    for (number, start) in starts.iter_mut().enumerate() {
        *start = restart(runtime, &mut daemon, &config, number)?;
    }
    let memory = resident(runtime, &daemon, &config)?;
    starts.sort_unstable();
    let [_, median, _] = starts;
    Ok(Cost { memory, start: median.as_secs_f64(), disk, list: list(&daemon)? })
}

/// Kills the daemon and restarts it; returns the time until a runtime has its first address.
fn restart(
    runtime: &Runtime,
    daemon: &mut Daemon,
    config: &Value,
    number: usize,
) -> anyhow::Result<Duration> {
    daemon.kill()?;
    let socket = daemon.run_directory().join("cni.sock");
    // Nobody listens on the socket that a killed daemon leaves behind.
    fs::remove_file(&socket).context("the killed daemon's socket")?;
    let started = Instant::now();
    daemon.spawn()?;
    runtime.block_on(async {
        while !socket.exists() {
            anyhow::ensure!(started.elapsed() < LIMIT, "the daemon does not serve: {}", daemon.log(""));
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let channel = client::connect(&socket).await?;
        load::add(channel, config.to_string().as_bytes(), format!("start-{number}")).await?;
        Ok(started.elapsed())
    })
}

/// Resident megabytes of a daemon that has served requests.
fn resident(runtime: &Runtime, daemon: &Daemon, config: &Value) -> anyhow::Result<f64> {
    runtime.block_on(load::churn(daemon, config, SERVED))?;
    Ok(daemon.rss()? as f64 * 1024.0 / 1e6)
}

/// Watches a state directory while work is done; returns its size after the last snapshot, if one was taken.
fn watching(directory: &Path, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Option<Disk>> {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let (mut newest, mut disk) = (String::new(), None);
            while !ended.load(Ordering::Relaxed) {
                let last = snapshots(directory).max().unwrap_or_default();
                if last != newest {
                    newest = last;
                    std::thread::sleep(SWEPT);
                    disk = size(directory, &newest);
                }
                std::thread::sleep(SWEPT);
            }
            disk
        });
        let done = work();
        ended.store(true, Ordering::Relaxed);
        let disk = watcher.join().map_err(|_| anyhow::anyhow!("the watcher panicked"))?;
        done.map(|()| disk)
    })
}

/// The names of the durable snapshots; they have one length, so that the greatest is the newest.
fn snapshots(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("snapshot.") && !name.ends_with(".tmp"))
}

/// The size of the checkpoint's files, and of a snapshot.
fn size(directory: &Path, snapshot: &str) -> Option<Disk> {
    let of = |path: &Path| Some(fs::metadata(path).ok()?.len() as f64 / 1e6);
    let files =
        fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    let directory_size = files.filter_map(|path| of(&path)).sum();
    Some(Disk { directory: directory_size, snapshot: of(&directory.join(snapshot))? })
}

/// Lists all allocations.
fn list(daemon: &Daemon) -> anyhow::Result<List> {
    let started = Instant::now();
    let mut tenurectl = Command::new(binaries::find("tenurectl")?)
        .arg("--run-dir")
        .arg(daemon.run_directory())
        .arg("allocations")
        .stdout(Stdio::null())
        .spawn()
        .context("tenurectl")?;
    let mut memory = 0.0;
    let status = loop {
        // The high-water mark, so that nothing is missed between two looks.
        let text = fs::read_to_string(format!("/proc/{}/status", tenurectl.id())).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        memory = peak.and_then(|peak| peak.parse::<f64>().ok()).map_or(memory, |kb| kb * 1024.0 / 1e6);
        if let Some(status) = tenurectl.try_wait()? {
            break status;
        }
        std::thread::sleep(LOOK_AGAIN);
    };
    anyhow::ensure!(status.success(), "tenurectl allocations: {status}");
    Ok(List { seconds: started.elapsed().as_secs_f64(), memory })
}
