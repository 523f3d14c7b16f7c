//! The policy call, measured inside a process by the policy crate's own example.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;
use tenure_e2e::binaries;

/// The example: `cargo xtask bench` names it; beside the bench it lies among the examples.
pub(crate) fn example() -> anyhow::Result<PathBuf> {
    match std::env::var_os("TENURE_MEASURE") {
        Some(path) => Ok(path.into()),
        None => binaries::find("examples/measure"),
    }
}

/// Microseconds of one call, at p50 and p99.
pub(crate) fn percentiles(calls: u32) -> anyhow::Result<(f64, f64)> {
    let output = Command::new(example()?).arg(calls.to_string()).output().context("measure")?;
    ensure!(output.status.success(), "measure: {}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let figure = |name: &str| {
        answer.pointer(&format!("/propose/{name}")).and_then(Value::as_f64).context(name.to_owned())
    };
    Ok((figure("p50_us")?, figure("p99_us")?))
}
