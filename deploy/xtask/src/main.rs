//! `cargo xtask`: the one command of those who develop tenure.
//!
//! It installs what the machine lacks and says so, calls the ordinary tools in the right order, and owns what is
//! generated. It knows the built binaries by their command lines only, so it builds in seconds.

mod bench;
mod cache;
mod command;
mod demo;
mod dependencies;
mod dist;
mod failures;
mod fuzz;
mod pages;
mod progress;
mod shape;
mod tally;
mod test;
mod tools;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Builds, tests and shows tenure.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Everything: format, lints, dependencies, tests, documentation. Ends with the number of tests.
    Test,
    /// Shows what tenure does, on this machine, with real pods: needs root, leaves nothing behind.
    Demo,
    /// Looks for modules that import each other in a circle, and for files that are too long.
    Shape,
    /// Builds what is released into target/dist.
    Dist,
    /// Writes the generated pages of the book, then the book.
    Docs,
    /// Measures what an address costs beside /bin/true and host-local, and prints one table.
    Bench {
        /// Only shows that each measurement runs, with an unoptimised build
        #[arg(long, conflicts_with_all = ["output", "keep"])]
        short: bool,
        /// `json` instead of a table
        #[arg(long, value_name = "FORMAT", value_parser = ["table", "json"], default_value = "table")]
        output: String,
        /// Keeps the run in a directory: as JSON, as a table for the book, and as a picture
        #[arg(long, value_name = "DIR")]
        keep: Option<PathBuf>,
    },
    /// Simulates the engine and its checkpoint from seeds, and holds every reply against the promises.
    Sim {
        /// `--seeds N`, `--from SEED`, `--steps N`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Fuzzes what reads the bytes of others: callers, disks and policies.
    Fuzz {
        /// How long in all
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        /// One target alone
        #[arg(long)]
        target: Option<String>,
    },
}

fn main() -> ExitCode {
    match run(&Arguments::parse().task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one task; `false` means that the task has said itself what is wrong.
fn run(task: &Task) -> anyhow::Result<bool> {
    let workspace = Workspace::find()?;
    match task {
        Task::Test => Ok(test::test(&workspace)),
        Task::Demo => demo::demo(&workspace).map(|()| true),
        Task::Shape => shape::check(&workspace).map(|()| true),
        Task::Dist => dist::dist(&workspace).map(|()| true),
        Task::Docs => pages::write_all(&workspace).map(|()| true),
        Task::Bench { short: true, .. } => bench::short(&workspace).map(|()| true),
        Task::Bench { output, keep, .. } => bench::bench(&workspace, output, keep.as_deref()).map(|()| true),
        Task::Sim { arguments } => {
            let simulation = ["run", "--release", "--package", "tenure-sim", "--"];
            command::run(workspace.cargo().args(simulation).args(arguments)).map(|()| true)
        }
        Task::Fuzz { seconds, target } => fuzz::fuzz(&workspace, *seconds, target.as_deref()).map(|()| true),
    }
}
