//! Measures the policy call inside a process, with the policy crate's example.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;
use tenure_e2e::binaries;

/// The example's path: set by `cargo xtask bench`; otherwise in the `examples` folder next to the bench.
pub(crate) fn example() -> anyhow::Result<PathBuf> {
    match std::env::var_os("TENURE_MEASURE") {
        Some(path) => Ok(path.into()),
        None => binaries::find("examples/measure"),
    }
}

/// The times of one call, in microseconds.
pub(crate) struct Call {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// As the daemon makes it.
    pub(crate) asked: f64,
    /// As the daemon makes and records it, with what has changed in the network since the call before.
    pub(crate) recorded: RecordedCall,
    /// The same, with a whole view of a network of 60,000 addresses in use.
    pub(crate) recorded_whole: RecordedCall,
    /// The additional time if the call is made on another thread while the calling one sleeps.
    pub(crate) on_thread: f64,
    /// The part of that which the machine takes to wake the other thread, and then this one.
    pub(crate) woken: f64,
    /// Cost of an allocation and its release in the ledger, by the shape of the network.
    pub(crate) ledger: Ledger,
}

/// The cost of a recorded call.
pub(crate) struct RecordedCall {
    /// In microseconds.
    pub(crate) p50: f64,
    /// The bytes of its line.
    pub(crate) bytes: f64,
}

/// Times in microseconds.
pub(crate) struct Ledger {
    /// With one pool of one range.
    pub(crate) plain: f64,
    /// With 99 pools beside it.
    pub(crate) pools: f64,
    /// With 999 ranges beside it in the pool.
    pub(crate) ranges: f64,
}

/// Measures a number of calls.
pub(crate) fn measure(calls: u32) -> anyhow::Result<Call> {
    let output = Command::new(example()?).arg(calls.to_string()).output().context("measure")?;
    ensure!(output.status.success(), "measure: {}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let figure = |name: &str| answer.pointer(name).and_then(Value::as_f64).with_context(|| name.to_owned());
    let recorded = |name: &str| -> anyhow::Result<RecordedCall> {
        Ok(RecordedCall { p50: figure(&format!("{name}/p50_us"))?, bytes: figure(&format!("{name}/bytes"))? })
    };
    Ok(Call {
        recorded: recorded("/recorded")?,
        recorded_whole: recorded("/recorded_whole")?,
        p50: figure("/propose/p50_us")?,
        p99: figure("/propose/p99_us")?,
        asked: figure("/asked/p50_us")?,
        on_thread: figure("/asked_definition/p50_us")? - figure("/define/p50_us")?,
        woken: figure("/woken/p50_us")?,
        ledger: Ledger {
            plain: figure("/ledger/p50_us")?,
            pools: figure("/ledger_100_pools/p50_us")?,
            ranges: figure("/ledger_1000_ranges/p50_us")?,
        },
    })
}
