//! The common beat of what looks at something now and then, and the slower one of an idle program.
//!
//! ```text
//!        a request, or any other stir                  none for BUSY
//! idle ───────────────────────────────▶ busy ───────────────────────────────▶ idle
//!   idle_beat: once in IDLE                idle_beat: as often as asked, as beat always
//! ```

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How long a program is busy after its start and after each [`stir`].
const BUSY: Duration = Duration::from_secs(10);

/// The beat of an idle program.
const IDLE: Duration = Duration::from_secs(12);

/// The rhythm of the process: all of its parts are woken together.
static RHYTHM: LazyLock<Rhythm> = LazyLock::new(Rhythm::new);

struct Rhythm {
    /// The first beat.
    first: Instant,
    /// The last time at which the program was stirred, in milliseconds since the first beat.
    stirred_ms: AtomicU64,
    /// Whether somebody may be waiting for an idle beat.
    is_idle: AtomicBool,
    /// Ends the idle beats.
    woken: Notify,
}

/// Waits for the next beat: the next multiple of `every` since the first one of the process.
///
/// Parts that wait so look together, and an idle node's processor is woken once for all of them instead of once for each.
pub async fn beat(every: Duration) {
    RHYTHM.beat(every).await;
}

/// Waits for the next beat as [`beat`] does while the program is busy, and for a slower one while it is idle: for looks at what changes
/// only after a [`stir`], or what may be noticed late on a node that nobody uses. A stir ends the slow beat, and the next one is waited for.
pub async fn idle_beat(every: Duration) {
    RHYTHM.idle_beat(every).await;
}

/// Says that the program has something to do: a request, or a change of its state or configuration.
pub fn stir() {
    RHYTHM.stir();
}

impl Rhythm {
    fn new() -> Self {
        let (stirred_ms, is_idle) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { first: Instant::now(), stirred_ms, is_idle, woken: Notify::new() }
    }

    async fn beat(&self, every: Duration) {
        sleep_until(next(self.first, Instant::now(), every)).await;
    }

    async fn idle_beat(&self, every: Duration) {
        // Both before the look at the time: a stir after that look finds somebody to wake.
        let woken = self.woken.notified();
        self.is_idle.store(true, Ordering::SeqCst);
        if self.is_busy() {
            return self.beat(every).await;
        }
        tokio::select! {
            () = self.beat(every.max(IDLE)) => {}
            () = woken => self.beat(every).await,
        }
    }

    fn is_busy(&self) -> bool {
        let stirred = self.first + Duration::from_millis(self.stirred_ms.load(Ordering::SeqCst));
        Instant::now().saturating_duration_since(stirred) < BUSY
    }

    fn stir(&self) {
        let since_first = Instant::now().saturating_duration_since(self.first);
        let now_ms = u64::try_from(since_first.as_millis()).unwrap_or(u64::MAX);
        self.stirred_ms.store(now_ms, Ordering::SeqCst);
        if self.is_idle.swap(false, Ordering::SeqCst) {
            self.woken.notify_waiters();
        }
    }
}

fn next(first: Instant, now: Instant, every: Duration) -> Instant {
    let every_ns = every.as_nanos().max(1);
    let past = now.duration_since(first).as_nanos() % every_ns;
    // Less than `every`, which fits.
    now + Duration::from_nanos(u64::try_from(every_ns - past).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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

    #[tokio::test(start_paused = true)]
    async fn an_idle_program_beats_slowly_until_it_is_stirred() {
        let (rhythm, two) = (Arc::new(Rhythm::new()), Duration::from_secs(2));
        let at = |rhythm: &Rhythm| Instant::now().duration_since(rhythm.first).as_secs();
        let mut beats = Vec::new();
        for _ in 0..6 {
            rhythm.idle_beat(two).await;
            beats.push(at(&rhythm));
        }
        assert_eq!(beats, [2, 4, 6, 8, 10, 12], "just started; the idle beat is one of all who wait");
        let waits = tokio::spawn({
            let rhythm = Arc::clone(&rhythm);
            async move { rhythm.idle_beat(two).await }
        });
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(!waits.is_finished(), "it is idle");
        rhythm.stir();
        waits.await.unwrap();
        assert_eq!(at(&rhythm), 18, "the next beat after the stir");
        rhythm.idle_beat(two).await;
        assert_eq!(at(&rhythm), 20, "busy");
        rhythm.idle_beat(two).await;
        rhythm.beat(two).await;
        rhythm.beat(two).await;
        rhythm.beat(two).await;
        assert_eq!(at(&rhythm), 28, "eleven seconds after the stir");
        rhythm.idle_beat(two).await;
        assert_eq!(at(&rhythm), 36, "idle again");
    }
}
