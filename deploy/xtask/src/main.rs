//! `cargo xtask`: the one command of those who develop tenure.
//!
//! It installs what the machine lacks and says so, calls the ordinary tools in the right order, and owns what is
//! generated. It knows the built binaries by their command lines only, so it builds in seconds.

mod cache;
mod command;
mod demo;
mod dependencies;
mod dist;
mod failures;
mod pages;
mod progress;
mod tally;
mod test;
mod tools;
mod workspace;

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
    /// Builds what is released into target/dist.
    Dist,
    /// Writes the generated pages of the book, then the book.
    Docs,
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
        Task::Dist => dist::dist(&workspace).map(|()| true),
        Task::Docs => pages::write_all(&workspace).map(|()| true),
    }
}
