//! `cargo xtask`: the one command for developing tenure.
//!
//! It installs missing tools and says so, calls the ordinary tools in the right order, and owns the generated files. It
//! uses the built binaries only by their command lines, so it compiles in seconds.

mod bench;
mod cache;
mod chart;
mod command;
mod demo;
mod dependencies;
mod dist;
mod failures;
mod fuzz;
mod image;
mod kubernetes;
#[cfg(test)]
mod lists;
mod moto;
mod packages;
mod pages;
mod programs;
mod progress;
mod prose;
#[cfg(test)]
mod reader;
mod sdk_page;
mod shape;
mod soak;
mod tally;
mod test;
mod tools;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Build, test and demonstrate tenure.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct XtaskArguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run all checks: format, lints, shape, dependencies, tests, documentation; ends with the number of tests.
    Test,
    /// Demonstrate tenure on this machine with real pods; needs root, leaves nothing behind.
    Demo {
        /// A node on AWS instead: interfaces grow, traffic flows, EC2 and its metadata lie, nothing is lost
        #[arg(long, conflicts_with = "cluster")]
        aws: bool,
        /// Three nodes of a cluster instead, with a real API server that goes away, a node that dies and one that returns
        #[arg(long)]
        cluster: bool,
        /// A real node of Kubernetes instead: kubelet, containerd and a control plane; upgrades, kills and a power cut
        #[arg(long, conflicts_with_all = ["aws", "cluster"])]
        kubernetes: bool,
        /// Only play on the development build as it is, as the test run does
        #[arg(long, requires = "kubernetes")]
        check: bool,
    },
    /// Find cycles between modules, through imports or methods, and files that are too long.
    Shape,
    /// Find prose that reads as translated, and type names that two crates define; each folder has a limit.
    Prose {
        /// Lower the limits to what is left
        #[arg(long)]
        lower: bool,
        /// Print the remarks of all folders, not only of those above their limits
        #[arg(long)]
        all: bool,
    },
    /// Build the API server, the kubelet, containerd and Helm that the tests run, unless they are there.
    Kubernetes,
    /// Write what follows from the chart: its copy of the definitions, and the plain manifests.
    Chart {
        /// Only lint the chart and compare, as the test run does
        #[arg(long)]
        check: bool,
    },
    /// Build the release files in target/dist; its README lists them.
    Dist,
    /// Build the release files, and write the container images to target/image.
    Image(image::ImageArguments),
    /// Generate pages of the book, then build the book.
    Docs,
    /// Measure the cost of an address, compared with /bin/true and host-local, and print one table.
    Bench {
        /// Only check that each measurement runs, with an unoptimised build
        #[arg(long, conflicts_with_all = ["output", "keep", "only"])]
        short: bool,
        /// The output format: a table for people, or JSON for programs
        #[arg(long, value_name = "FORMAT", value_parser = ["table", "json"], default_value = "table")]
        output: String,
        /// Save the run in a directory: as JSON, as a table for the book, and as a picture
        #[arg(long, value_name = "DIR")]
        keep: Option<PathBuf>,
        /// Measure only these, separated by commas: turns, at-once, grpc, steady, agents, declared, policy, stalls, restarts, idle, large, size
        #[arg(long, value_name = "ROWS", conflicts_with = "keep")]
        only: Option<String>,
    },
    /// Simulate the engine and its checkpoint from seeds, and check every reply against the guarantees.
    Sim {
        /// `--seeds N`, `--from SEED`, `--steps N`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run the randomized suites with newly drawn seeds until the time is up.
    Soak(soak::SoakArguments),
    /// Fuzz the parsers of untrusted input: from callers, disks and policies.
    Fuzz {
        /// Total duration in seconds
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        /// Only this target
        #[arg(long)]
        target: Option<String>,
    },
}

fn main() -> ExitCode {
    let task = XtaskArguments::parse().task;
    let started = progress::now();
    let ended = run(&task);
    if matches!(task, Task::Test | Task::Demo { .. } | Task::Image(_)) {
        eprintln!("xtask: took {}", minutes(progress::now().saturating_sub(started)));
    }
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A duration in minutes and seconds.
fn minutes(took: Duration) -> String {
    let seconds = took.as_secs();
    format!("{} min {:02} s", seconds / 60, seconds % 60)
}

/// Runs one task; `false` means that the task failed and has printed why.
fn run(task: &Task) -> anyhow::Result<bool> {
    let workspace = Workspace::find()?;
    match task {
        Task::Test => Ok(test::test(&workspace)),
        Task::Demo { kubernetes: true, check: true, .. } => {
            demo::kubernetes::show(&workspace, false).map(|()| true)
        }
        Task::Demo { kubernetes: true, .. } => demo::kubernetes::demo(&workspace).map(|()| true),
        Task::Demo { aws, cluster, .. } => {
            let scene = match (*aws, *cluster) {
                (true, _) => demo::DemoScene::Aws,
                (false, true) => demo::DemoScene::Cluster,
                (false, false) => demo::DemoScene::Bridge,
            };
            demo::demo(&workspace, scene).map(|()| true)
        }
        Task::Shape => shape::check(&workspace).map(|()| true),
        Task::Prose { lower, all } => prose::check(&workspace, *lower, *all).map(|()| true),
        Task::Kubernetes => kubernetes::install(&workspace).map(|()| true),
        Task::Chart { check: true } => chart::check(&workspace).map(|()| true),
        Task::Chart { check: false } => chart::write(&workspace).map(|()| true),
        Task::Dist => dist::dist(&workspace).map(|()| true),
        Task::Image(arguments) => image::image(&workspace, arguments).map(|()| true),
        Task::Docs => pages::write_all(&workspace).map(|()| true),
        Task::Bench { short: true, .. } => bench::short(&workspace).map(|()| true),
        Task::Bench { output, keep, only, .. } => {
            bench::bench(&workspace, output, keep.as_deref(), only.as_deref()).map(|()| true)
        }
        Task::Sim { arguments } => {
            let simulation = ["run", "--release", "--package", "tenure-sim", "--"];
            command::run(workspace.cargo().args(simulation).args(arguments)).map(|()| true)
        }
        Task::Soak(arguments) => soak::soak(&workspace, arguments).map(|()| true),
        Task::Fuzz { seconds, target } => fuzz::fuzz(&workspace, *seconds, target.as_deref()).map(|()| true),
    }
}
