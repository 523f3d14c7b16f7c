//! What an address costs: one table, everything measured in one run and in turns, so that a noisy machine hits all sides.
//!
//! Nothing here asserts a time. `--short` only shows that each measurement runs.

mod exec;
mod instructions;
mod load;
mod machine;
mod parts;
mod picture;
mod policy;
mod report;
mod start;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use tenure_e2e::{Daemon, binaries};
use tokio::runtime::Runtime;

use crate::exec::{Subject, at_once, in_turns, network};
use crate::parts::{Parts, Spent};
use crate::report::{Report, Row, Unit};

/// Measures what an address costs, beside /bin/true and host-local.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only show that each measurement runs; the figures mean nothing
    #[arg(long)]
    short: bool,
    /// What is printed
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
    /// Keeps run.json, run.md and add.svg in a directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Table,
    Json,
}

/// How much is measured.
struct Scale {
    /// Executions of each subject for one median.
    rounds: usize,
    /// Executions of each subject with many at once.
    at_once: usize,
    /// Allocations of three networks, and how their rows name them.
    sizes: [(u32, &'static str); 3],
    /// Networks of the subject that has many.
    networks: u32,
    /// Allocations of the largest state.
    most: u32,
    /// ADDs of a throughput run.
    throughput: u32,
    /// ADDs at a steady pace.
    steady: u32,
    /// Calls of a policy.
    calls: u32,
}

const FULL: Scale = Scale {
    rounds: 200,
    at_once: 640,
    sizes: [(1_000, "1k"), (10_000, "10k"), (60_000, "60k")],
    networks: 100,
    most: 100_000,
    throughput: 60_000,
    steady: 5_000,
    calls: 20_000,
};
const SHORT: Scale = Scale {
    rounds: 3,
    at_once: 32,
    sizes: [(10, "1k"), (20, "10k"), (50, "60k")],
    networks: 3,
    most: 1_100,
    throughput: 500,
    steady: 50,
    calls: 100,
};

/// 500 ADDs a second.
const PACE: Duration = Duration::from_millis(2);

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let report = measure(if arguments.short { &SHORT } else { &FULL })?;
    match arguments.output {
        Output::Table => print!("{}", report.table()),
        Output::Json => print!("{}", report.json()?),
    }
    if let Some(directory) = &arguments.keep {
        keep(&report, directory).with_context(|| directory.display().to_string())?;
    }
    Ok(())
}

fn keep(report: &Report, directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("run.json"), report.json()?)?;
    fs::write(directory.join("run.md"), report.markdown())?;
    Ok(fs::write(directory.join("add.svg"), picture::draw(report.parts()))?)
}

fn measure(scale: &Scale) -> anyhow::Result<Report> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let daemon = Daemon::prepare()?;
    let metrics = daemon.path("metrics.sock");
    daemon.configure(&format!("[metrics]\nlisten = \"unix:{}\"\n", metrics.display()))?;
    let machine = machine::describe(&daemon.path(""))?;
    let mut daemon = daemon;
    daemon.start_again()?;

    let mut rows = Vec::new();
    let parts = one_after_another(scale, &runtime, &daemon, &metrics, &mut rows)?;
    many_at_once(scale, &daemon, &mut rows)?;
    over_grpc(scale, &runtime, &daemon, &mut rows)?;
    policy_calls(scale, &mut rows)?;
    large_state(scale, &runtime, &mut rows)?;
    sizes_and_instructions(&daemon, &mut rows)?;
    Ok(Report::new(machine, rows, parts))
}

/// One program after the other, in turns: what an ADD costs, how that grows, and where it goes.
fn one_after_another(
    scale: &Scale,
    runtime: &Runtime,
    daemon: &Daemon,
    metrics: &Path,
    rows: &mut Vec<Row>,
) -> anyhow::Result<Parts> {
    say("filling networks");
    let mut filled = Vec::new();
    for (index, (count, _)) in scale.sizes.iter().enumerate() {
        let config = network(daemon, &format!("bench-size-{index}"), &format!("10.{}.0.0/16", 10 + index));
        runtime.block_on(load::fill(daemon, &config, "filled", *count))?;
        filled.push(Subject::tenure(daemon, vec![config])?);
    }
    let [small, middle, large] = filled.as_slice() else { anyhow::bail!("there are three sizes") };

    let on = |name: &str, subnet: &str| Subject::tenure(daemon, vec![network(daemon, name, subnet)]);
    let many = (0..scale.networks)
        .map(|index| {
            network(daemon, &format!("bench-of-many-{index}"), &format!("10.{}.0.0/16", 100 + index))
        })
        .collect();
    let least = Subject::bin_true();
    let peer = Subject::host_local(network(daemon, "bench-peer", "10.1.0.0/16"))?;
    let (version, status) = (Subject::version(daemon)?, Subject::status(daemon)?);
    let empty = on("bench-empty", "10.1.0.0/16")?;
    let (v4_24, v4_8) = (on("bench-24", "10.2.0.0/24")?, on("bench-8", "11.0.0.0/8")?);
    let (v6_64, many) = (on("bench-64", "fd00:bead::/64")?, Subject::tenure(daemon, many)?);

    say("one program after another, in turns: /bin/true, host-local, the plugin in each network");
    let look = || -> anyhow::Result<(Spent, Spent)> {
        let read = |name| Spent::read(metrics, name);
        Ok((read("tenure_policy_call_duration_seconds")?, read("tenure_checkpoint_sync_duration_seconds")?))
    };
    let before = look()?;
    let times = in_turns(
        scale.rounds,
        [&least, &peer, &version, &status, &empty, small, middle, large, &v4_24, &v4_8, &v6_64, &many],
    )?;
    let after = look()?;
    let us = |microseconds: f64| Unit::Microseconds.of(microseconds);
    let p99 = |times: &exec::Times| us(times.percentile(99));
    let [_, _, _, _, ours, ..] = &times;
    let ours_p99 = p99(ours);
    let [least, peer, version, status, ours, small, middle, large, v4_24, v4_8, v6_64, many] =
        times.map(|times| times.percentile(50));

    rows.push(
        Row::new("shim ADD p50, over exec of /bin/true", us(ours - least))
            .at_most(600.0)
            .raw("ADD", us(ours))
            .raw("its p99", ours_p99)
            .raw("/bin/true", us(least)),
    );
    let mut over = |measure: String, figure: f64, base: f64, most: Option<f64>| {
        let row = Row::new(measure, Unit::Times.of(figure / base)).raw("p50", us(figure)).raw("of", us(base));
        rows.push(match most {
            Some(most) => row.at_most(most),
            None => row,
        });
    };
    over("shim ADD p50, over host-local".to_owned(), ours, peer, Some(0.45));
    let [(_, first), (_, second), (_, third)] = scale.sizes;
    over(format!("... with {third} allocated in a /16, over empty"), large, ours, Some(1.1));
    over(format!("... with {second} allocated"), middle, ours, None);
    over(format!("... with {first} allocated"), small, ours, None);
    over("... in a v4 /24, over a /16".to_owned(), v4_24, ours, None);
    over("... in a v4 /8".to_owned(), v4_8, ours, None);
    over("... in a v6 /64".to_owned(), v6_64, ours, None);
    over(format!("... in {} networks, over one", scale.networks), many, ours, None);

    let policy = after.0.mean_since(before.0);
    let sync = after.1.mean_since(before.1);
    let connect = (status - version).max(0.0);
    Ok(Parts {
        bin_true: least,
        host_local: peer,
        exec: version,
        connect,
        policy,
        sync,
        daemon: (ours - version - connect - policy - sync).max(0.0),
    })
}

fn many_at_once(scale: &Scale, daemon: &Daemon, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    let config = network(daemon, "bench-at-once", "10.64.0.0/10");
    let (least, ours) = (Subject::bin_true(), Subject::tenure(daemon, vec![config.clone()])?);
    let peer = Subject::host_local(config)?;
    let rate = |value: f64| Unit::PerSecond.of(value);
    for callers in [1, 8, 32, 128] {
        say(&format!("{callers} programs at once"));
        let measure = format!("{callers} shim ADDs at once, over /bin/true");
        let total = scale.at_once.max(callers * 4);
        // The peer is the slowest by far, and one row is enough to tell.
        let row = if callers == 32 {
            let [least, ours, peer] = at_once(callers, total, [&least, &ours, &peer])?;
            let row = Row::new(measure, Unit::Times.of(ours / least)).at_least(0.6);
            row.raw("ADD", rate(ours)).raw("/bin/true", rate(least)).raw("host-local", rate(peer))
        } else {
            let [least, ours] = at_once(callers, total, [&least, &ours])?;
            let row = Row::new(measure, Unit::Times.of(ours / least));
            row.raw("ADD", rate(ours)).raw("/bin/true", rate(least))
        };
        rows.push(row);
    }
    Ok(())
}

fn over_grpc(scale: &Scale, runtime: &Runtime, daemon: &Daemon, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    say("gRPC ADDs, each durable");
    let rate = |callers: u32, count: u32| runtime.block_on(load::rate(daemon, count, callers));
    let goal = rate(64, scale.throughput)?;
    rows.push(Row::new("gRPC ADD, 64 in flight", Unit::PerSecond.of(goal)).at_least(15_000.0));
    for callers in [1, 8, 32, 128] {
        let rate = rate(callers, scale.throughput / 4)?;
        rows.push(Row::new(format!("gRPC ADD, {callers} in flight"), Unit::PerSecond.of(rate)));
    }
    say("500 gRPC ADDs a second");
    let times = runtime.block_on(load::steady(daemon, PACE, scale.steady))?;
    let (p50, p99) = (times.percentile(50), times.percentile(99));
    let us = |microseconds: f64| Unit::Microseconds.of(microseconds);
    let row = Row::new("p99 at a steady 500 ADD/s, over p50", Unit::Times.of(p99 / p50.max(1.0)));
    rows.push(row.at_most(3.0).raw("p50", us(p50)).raw("p99", us(p99)));
    Ok(())
}

fn policy_calls(scale: &Scale, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    say("policy calls, a fresh instance each");
    let (p50, p99) = policy::percentiles(scale.calls)?;
    rows.push(Row::new("policy call, fresh instance, p50", Unit::Microseconds.of(p50)).at_most(40.0));
    rows.push(Row::new("policy call, fresh instance, p99", Unit::Microseconds.of(p99)).at_most(100.0));
    Ok(())
}

fn large_state(scale: &Scale, runtime: &Runtime, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    let most = scale.most;
    say(&format!("starting with {most} allocations, and the memory they take"));
    let cost = start::measure(runtime, most)?;
    rows.push(
        Row::new(format!("start to serving, {most} allocations"), Unit::Seconds.of(cost.start)).at_most(0.3),
    );
    rows.push(Row::new("RSS, 1000 allocations", Unit::Megabytes.of(cost.small)).at_most(30.0));
    rows.push(Row::new(format!("RSS, {most} allocations"), Unit::Megabytes.of(cost.large)).at_most(120.0));
    Ok(())
}

fn sizes_and_instructions(daemon: &Daemon, rows: &mut Vec<Row>) -> anyhow::Result<()> {
    let plugin = binaries::find("tenure")?;
    let bytes = fs::metadata(&plugin).with_context(|| plugin.display().to_string())?.len();
    rows.push(Row::new("`tenure` binary", Unit::Megabytes.of(bytes as f64 / 1e6)).at_most(1.5));
    say("counting instructions");
    let subject = Subject::tenure(daemon, vec![network(daemon, "bench-counted", "10.1.0.0/16")])?;
    let count = |value: f64| Unit::Instructions.of(value);
    rows.push(Row::new("instructions of the plugin's ADD", count(instructions::of_plugin(&subject)?)));
    rows.push(Row::new("instructions of a policy call", count(instructions::of_policy_call()?)));
    Ok(())
}

fn say(what: &str) {
    eprintln!("bench: {what} ...");
}
