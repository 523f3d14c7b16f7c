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

/// Microseconds of one call.
pub(crate) struct Call {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// As the daemon makes it.
    pub(crate) asked: f64,
    /// What it takes beyond the call to have one made on another thread, the asking one asleep meanwhile.
    pub(crate) on_thread: f64,
}

/// Makes so many calls.
pub(crate) fn measure(calls: u32) -> anyhow::Result<Call> {
    let output = Command::new(example()?).arg(calls.to_string()).output().context("measure")?;
    ensure!(output.status.success(), "measure: {}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let figure = |name: &str| answer.pointer(name).and_then(Value::as_f64).with_context(|| name.to_owned());
    Ok(Call {
        p50: figure("/propose/p50_us")?,
        p99: figure("/propose/p99_us")?,
        asked: figure("/asked/p50_us")?,
        on_thread: figure("/asked_definition/p50_us")? - figure("/define/p50_us")?,
    })
}
