//! Waits for other programs by asking them again and again.

use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// The pause between two probes.
const PAUSE: Duration = Duration::from_millis(100);
/// How many probes there are: a minute of pauses.
const PROBES: u32 = 600;

/// Repeats a probe until it returns a value.
///
/// # Errors
/// When the probe fails, or returns nothing for a minute.
pub(super) fn until<T>(what: &str, mut probe: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    for _ in 0..PROBES {
        if let Some(found) = probe().with_context(|| format!("waiting for {what}"))? {
            return Ok(found);
        }
        pause();
    }
    bail!("waited a minute for {what}")
}

/// Repeats a check until it returns `true`.
///
/// # Errors
/// When the check fails, or does not return `true` for a minute.
pub(super) fn holds(what: &str, mut check: impl FnMut() -> Result<bool>) -> Result<()> {
    until(what, || Ok(check()?.then_some(())))
}

#[expect(clippy::disallowed_methods, reason = "other programs have no event to wait for")]
fn pause() {
    thread::sleep(PAUSE);
}
