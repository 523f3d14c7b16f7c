//! The common beat of what looks at something now and then.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The first beat of the process.
static FIRST: OnceLock<Instant> = OnceLock::new();

/// Waits for the next beat: the next multiple of `every` since the first one of the process.
///
/// Parts that wait so look together, and an idle node's processor is woken once for all of them instead of once for each.
pub async fn beat(every: Duration) {
    let (first, now) = (*FIRST.get_or_init(Instant::now), Instant::now());
    sleep_until(next(first, now, every)).await;
}

fn next(first: Instant, now: Instant, every: Duration) -> Instant {
    let every_ns = every.as_nanos().max(1);
    let past = now.duration_since(first).as_nanos() % every_ns;
    // Less than `every`, which fits.
    now + Duration::from_nanos(u64::try_from(every_ns - past).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_who_wait_are_woken_together() {
        let first = Instant::now();
        let (two, six) = (Duration::from_secs(2), Duration::from_secs(6));
        let at = |seconds| first + Duration::from_millis(seconds);
        assert_eq!(next(first, at(4100), two), at(6000));
        assert_eq!(next(first, at(5999), six), at(6000));
        assert_eq!(next(first, at(6000), two), at(8000), "never at once");
    }
}
