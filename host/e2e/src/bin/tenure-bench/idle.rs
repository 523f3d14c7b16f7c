//! A daemon that nobody calls: how often it wakes the processor.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use tenure_e2e::Daemon;
use tokio::runtime::Runtime;

use crate::load::{self, own_network};

/// After its start and its last request, so that work which is put off is done, and the daemon idle.
const REST: Duration = Duration::from_secs(15);

/// The wake-ups of a second, of all threads together: a thread that gives up the processor by itself waits, and is woken again.
pub(crate) fn measure(runtime: &Runtime, period: Duration) -> anyhow::Result<f64> {
    let daemon = Daemon::start()?;
    runtime.block_on(load::fill(&daemon, &own_network("bench-idle"), "idle", 100))?;
    let tasks = format!("/proc/{}/task", daemon.pid()?.as_raw_nonzero());
    std::thread::sleep(REST.min(period));
    let before = waits(Path::new(&tasks))?;
    std::thread::sleep(period);
    // A thread that has ended meanwhile has taken its count with it.
    let count = waits(Path::new(&tasks))?.saturating_sub(before);
    Ok(count as f64 / period.as_secs_f64())
}

/// How often the threads have waited so far.
fn waits(tasks: &Path) -> anyhow::Result<u64> {
    let mut sum = 0;
    for task in fs::read_dir(tasks)? {
        // The thread may end at any time.
        let Ok(status) = fs::read_to_string(task?.path().join("status")) else { continue };
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        let count: u64 = line.context("the kernel counts no context switches")?.trim().parse()?;
        sum += count;
    }
    Ok(sum)
}
