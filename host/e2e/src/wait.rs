//! Waiting for another process: a probe, repeated until it has an answer or the time is over.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// How often a probe is repeated.
const PAUSE: Duration = Duration::from_millis(10);

/// Repeats a probe until it finds something.
///
/// # Errors
/// When the probe fails, or has found nothing within the limit.
pub fn until<T>(
    what: &str,
    limit: Duration,
    mut probe: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let start = Instant::now();
    loop {
        if let Some(found) = probe().with_context(|| format!("waiting for {what}"))? {
            return Ok(found);
        }
        if start.elapsed() > limit {
            bail!("waited {limit:?} for {what}");
        }
        std::thread::sleep(PAUSE);
    }
}

/// Repeats a check until it holds.
///
/// # Errors
/// When the check fails, or does not hold within the limit.
pub fn holds(
    what: &str,
    limit: Duration,
    mut check: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    until(what, limit, || Ok(check()?.then_some(())))
}
