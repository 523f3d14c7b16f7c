//! Fuzzing: builds the targets of `host/fuzz` with the coverage instrumentation of stable Rust, and runs them with libFuzzer.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::command;
use crate::workspace::Workspace;

/// The fuzz targets; `host/fuzz` describes each.
const TARGETS: [&str; 4] = ["cni_input", "log_recovery", "policy_answer", "policy_component"];

/// Compiles the workspace's packages with coverage.
const COMPILER: &str = "host/fuzz/rustc.sh";

/// After how many seconds an input counts as one that hangs. libFuzzer counts the time that passes, and the tests run this at the lowest
/// priority: an input of 200 ms has taken 12 s there.
const HANG: &str = "-timeout=300";

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
    let mut cargo = workspace.cargo();
    // With the whole workspace's features, in which the development build has compiled all that is not ours.
    cargo.args(["build", "--workspace", "--features", "tenure-fuzz/libfuzzer"]);
    cargo.args(targets.iter().flat_map(|name| ["--bin", name]));
    cargo.env("RUSTC_WORKSPACE_WRAPPER", workspace.root.join(COMPILER));
    // Of our own packages: at level 2, they take longer to compile than a short run of all targets saves.
    cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_INCREMENTAL", "0");
    command::run(&mut cargo)?;
    Ok(workspace.target.join("debug"))
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
        .args(["-print_final_stats=1", HANG, "-rss_limit_mb=1024", "-max_len=8192"])
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
