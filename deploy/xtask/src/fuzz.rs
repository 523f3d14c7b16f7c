//! Fuzzing: builds the targets of `host/fuzz` with the coverage instrumentation of stable Rust, and runs them with libFuzzer.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::command;
use crate::workspace::Workspace;

/// The fuzz targets; `host/fuzz` describes each.
const TARGETS: [&str; 3] = ["cni_input", "log_recovery", "policy_answer"];

/// LLVM's own coverage pass: what `cargo fuzz` requests from a nightly compiler, without the sanitizers.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Runs one target, or each in turn, for the given number of seconds in total.
///
/// # Errors
/// When a target cannot be built, or an input makes one fail.
pub(crate) fn fuzz(workspace: &Workspace, seconds: u32, only: Option<&str>) -> Result<()> {
    let targets: Vec<&str> =
        TARGETS.into_iter().filter(|name| only.is_none_or(|only| only == *name)).collect();
    let Some(share) = u32::try_from(targets.len()).ok().and_then(|count| seconds.checked_div(count)) else {
        bail!("no such target; the targets are {}", TARGETS.join(", "));
    };
    let binaries = build(workspace, &targets)?;
    let mut broken = Vec::new();
    for name in targets {
        if !run(workspace, &binaries.join(name), name, share.max(1))? {
            broken.push(name);
        }
    }
    if broken.is_empty() { Ok(()) } else { bail!("failed: {}", broken.join(", ")) }
}

/// Builds the targets, and returns their folder.
fn build(workspace: &Workspace, targets: &[&str]) -> Result<PathBuf> {
    let about = command::output(Command::new("rustc").arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let mut cargo = workspace.cargo();
    // With a named target, only its own code gets these flags: build scripts run without coverage.
    cargo.args(["build", "--profile", "fuzz", "--package", "tenure-fuzz", "--features", "libfuzzer"]);
    cargo.args(["--target", host]).env("RUSTFLAGS", COVERAGE).env("CARGO_INCREMENTAL", "0");
    cargo.args(targets.iter().flat_map(|name| ["--bin", name]));
    command::run(&mut cargo)?;
    Ok(workspace.target.join(host).join("fuzz"))
}

/// Runs one target; returns `false` if an input made it fail, and then prints everything needed to reproduce it.
fn run(workspace: &Workspace, binary: &PathBuf, name: &str, seconds: u32) -> Result<bool> {
    let found = workspace.target.join("fuzz-corpus").join(name);
    let corpus = workspace.root.join("host/fuzz/corpus").join(name);
    let artifacts = workspace.root.join("host/fuzz/artifacts").join(name);
    for folder in [&found, &artifacts] {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    println!("{name}: {seconds} s, from {}", workspace.relative(&corpus).display());
    let output = Command::new(binary)
        .args([format!("-max_total_time={seconds}"), format!("-artifact_prefix={}/", artifacts.display())])
        .args(["-print_final_stats=1", "-timeout=10", "-rss_limit_mb=1024", "-max_len=8192"])
        // libFuzzer writes new inputs to the first folder, which lasts as long as the build.
        .args([&found, &corpus])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let executions = text.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    println!("{name}: {} executions", executions.unwrap_or(" unknown").trim());
    if output.status.success() {
        return Ok(true);
    }
    println!("{text}");
    let written = text.lines().find_map(|line| line.split_once("Test unit written to "));
    match written {
        Some((_, input)) => println!("{name}: replay it with `{} {input}`", binary.display()),
        None => println!("{name}: exited ({}) without writing an input", output.status),
    }
    Ok(false)
}
