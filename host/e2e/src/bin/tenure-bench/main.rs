//! What an address costs: one table, everything measured in one run and interleaved, so that a noisy machine hits both sides.
//!
//! Nothing here asserts a time. `--short` only shows that each measurement runs.

mod calls;
mod exec;
mod load;
mod memory;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use tenure_e2e::{Daemon, binaries};

use crate::exec::{Exec, Kind};
use crate::report::Report;

/// How much is measured.
struct Scale {
    /// Executions of each kind of program for one median.
    rounds: usize,
    /// Executions of each kind in parallel runs.
    parallel: usize,
    /// Allocations of the large network.
    many: u32,
    /// Allocations of the largest state.
    most: u32,
    /// ADDs of a throughput run.
    throughput: u32,
    /// Calls of a policy.
    calls: u32,
}

const FULL: Scale =
    Scale { rounds: 200, parallel: 640, many: 60_000, most: 100_000, throughput: 60_000, calls: 20_000 };
const SHORT: Scale = Scale { rounds: 5, parallel: 32, many: 500, most: 1_000, throughput: 1_000, calls: 500 };

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let value = |name: &str| {
        let position = arguments.iter().position(|argument| argument == name)?;
        arguments.get(position + 1).cloned()
    };
    let scale = if has("--short") { SHORT } else { FULL };
    match measure(&scale) {
        Ok(report) => {
            print!("{}", if has("--json") { report.json() } else { report.table() });
            match value("--keep").map(|path| std::fs::write(path, report.json())).transpose() {
                Ok(_) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("bench: --keep: {error}");
                    ExitCode::FAILURE
                }
            }
        }
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(scale: &Scale) -> anyhow::Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut report = Report::default();

    say("starting a daemon on disk");
    let daemon = Daemon::start()?;
    let empty = Exec::new(&daemon, "bench-empty", "10.1.0.0/16")?;

    say("one ADD after another: the plugin, host-local, /bin/true, in turns");
    let turns = empty.in_turns(scale.rounds, &[Kind::True, Kind::Tenure, Kind::HostLocal])?;
    report.add_latency(&turns);

    say("the same with many allocated");
    let full = Exec::new(&daemon, "bench-many", "10.2.0.0/16")?;
    runtime.block_on(load::fill(&daemon, full.config(), "many", scale.many))?;
    let crowded = full.beside(&empty, scale.rounds)?;
    report.crowded(scale.many, crowded);

    say("32 at once");
    let parallel = empty.in_parallel(32, scale.parallel, &[Kind::True, Kind::Tenure, Kind::HostLocal])?;
    report.parallel(&parallel);

    say("gRPC, 64 in flight, durable");
    let rate = runtime.block_on(load::rate(&daemon, scale.throughput, 64))?;
    report.throughput(rate);

    say("one policy call, a fresh instance each");
    report.policy(calls::percentiles(scale.calls)?);

    say("starting with a large state, and its memory");
    let (small, large, start) = memory::measure(&runtime, scale.most)?;
    report.memory(scale.most, small, large, start);

    let plugin = binaries::find("tenure")?;
    let size = std::fs::metadata(&plugin).with_context(|| plugin.display().to_string())?.len();
    report.size(size);

    say("how it grows");
    for callers in [1, 8, 32, 128] {
        let rate = runtime.block_on(load::rate(&daemon, scale.throughput / 4, callers))?;
        report.grows(format!("gRPC ADD, {callers} callers"), format!("{rate:.0}/s"));
    }
    for (name, subnet) in [("v4 /24", "10.3.0.0/24"), ("v4 /8", "11.0.0.0/8"), ("v6 /64", "fd00:bead::/64")] {
        let exec = Exec::new(&daemon, &format!("bench-{}", name.replace([' ', '/'], "-")), subnet)?;
        let turns = exec.beside(&empty, scale.rounds.min(100))?;
        report.grows(format!("shim ADD in a {name}, over a /16"), format!("{turns:.2} x"));
    }
    Ok(report)
}

fn say(what: &str) {
    eprintln!("bench: {what} ...");
}

/// Where Debian puts the peer.
fn host_local() -> anyhow::Result<PathBuf> {
    let path = PathBuf::from("/usr/lib/cni/host-local");
    anyhow::ensure!(path.exists(), "Debian's containernetworking-plugins is not installed");
    Ok(path)
}
