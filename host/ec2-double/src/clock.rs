//! The double's clock: virtual, and moved by its user, or real.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::state::Time;

/// The moment 0 of a virtual clock: 2026-01-01T00:00:00Z, in milliseconds since 1970.
const EPOCH_MS: i64 = 1_767_225_600_000;

/// A clock.
#[derive(Debug)]
pub struct Clock {
    kind: Kind,
    /// The moment 0, in milliseconds since 1970.
    epoch: i64,
}

#[derive(Debug)]
enum Kind {
    Virtual(watch::Sender<Time>),
    Real(Instant),
}

impl Clock {
    /// A clock that stands still until it is moved.
    #[must_use]
    pub fn virtual_time() -> Self {
        Self { kind: Kind::Virtual(watch::Sender::new(Time::START)), epoch: EPOCH_MS }
    }

    /// A clock that goes by itself.
    #[must_use]
    pub fn real() -> Self {
        let start = i64::try_from(Time::START.millis()).unwrap_or(0);
        Self { kind: Kind::Real(Instant::now()), epoch: wall_clock() - start }
    }

    /// Returns the present time.
    #[must_use]
    pub fn now(&self) -> Time {
        match &self.kind {
            Kind::Virtual(now) => *now.borrow(),
            Kind::Real(start) => {
                Time::START.after(u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX))
            }
        }
    }

    /// Whether it is virtual.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        matches!(self.kind, Kind::Virtual(_))
    }

    /// Moves a virtual clock forward, never back; `false` if the clock is real.
    pub fn move_to(&self, time: Time) -> bool {
        if let Kind::Virtual(now) = &self.kind {
            now.send_modify(|now| *now = time.max(*now));
            return true;
        }
        false
    }

    /// Waits for a moment.
    pub async fn wait_until(&self, time: Time) {
        match &self.kind {
            Kind::Virtual(now) => {
                // The sender lives as long as this clock.
                let _ = now.subscribe().wait_for(|now| *now >= time).await;
            }
            Kind::Real(_) => tokio::time::sleep(Duration::from_millis(time.since(self.now()))).await,
        }
    }

    /// A moment as EC2 writes it, such as `2026-01-01T01:00:00.000Z`.
    #[must_use]
    pub fn date(&self, time: Time) -> String {
        let milliseconds = i64::try_from(time.millis()).ok().and_then(|time| self.epoch.checked_add(time));
        let known =
            milliseconds.and_then(|milliseconds| jiff::Timestamp::from_millisecond(milliseconds).ok());
        known.map_or_else(String::new, |date| format!("{date:.3}"))
    }
}

/// The machine's own time, in milliseconds since 1970. Callers sign with it, even if the double's clock differs.
#[must_use]
pub(crate) fn wall_clock() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec.saturating_mul(1000).saturating_add(now.tv_nsec / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_virtual_clock_wakes_who_waits_and_never_goes_back() {
        let clock = Clock::virtual_time();
        let late = Time::START.after(5000);
        let waiting = clock.wait_until(late);
        tokio::pin!(waiting);
        tokio::select! {
            biased;
            () = &mut waiting => panic!("the time has not come"),
            () = std::future::ready(()) => {}
        }
        assert!(clock.move_to(late) && clock.move_to(Time::START));
        waiting.await;
        assert_eq!((clock.now(), clock.date(Time::START)), (late, "2026-01-01T01:00:00.000Z".to_owned()));
    }

    #[tokio::test]
    async fn a_real_clock_goes_by_itself() {
        let clock = Clock::real();
        let soon = clock.now().after(2);
        clock.wait_until(soon).await;
        assert!(clock.now() >= soon && !clock.move_to(soon) && clock.date(soon).starts_with("20"));
    }
}
