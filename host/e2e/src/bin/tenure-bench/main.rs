//! Measures what an address costs, and prints one table per run. Subjects that are compared take turns, so that a noisy machine
//! affects all of them.
//!
//! Nothing here asserts a time. `--short` only checks that each measurement runs.

mod agents;
mod cluster;
mod declared;
mod exec;
mod idle;
mod instructions;
mod load;
mod machine;
mod measurements;
mod metrics;
mod neighbours;
mod parts;
mod picture;
mod policy;
mod report;
mod restarts;
mod scale;
mod stalls;
mod start;
mod steady;
mod times;
mod turns;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, ValueEnum};

use crate::measurements::measure;
use crate::report::Report;
use crate::scale::{FULL, Rows, SHORT};

/// Measure what an address costs, compared with /bin/true and host-local.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only check that each measurement runs; the figures are meaningless
    #[arg(long)]
    short: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
    /// Write run.json, run.md and add.svg to a directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Measure only these, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "keep")]
    only: Vec<Rows>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Table,
    Json,
}

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
    let report = measure(if arguments.short { &SHORT } else { &FULL }, !arguments.short, &arguments.only)?;
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
    if let Some(parts) = report.parts() {
        fs::write(directory.join("add.svg"), picture::draw(parts))?;
    }
    Ok(())
}
