//! Logs a policy's own lines: a limited number per call and per second, and a count of the rest.

use std::sync::Mutex;

use tenure_types::{PolicyStamp, hold};
use tracing::Level;

use super::throttle::{LineAdmission, Throttle};

/// The most lines that one call may log.
pub(super) const MOST_IN_A_CALL: u32 = 16;

/// The lines that a policy may log in a burst, and per second after that.
const BURST: u32 = 64;
const PER_SECOND: u32 = 16;

/// The lines of one policy. The lock is held for a few additions and never across anything that blocks.
#[derive(Debug)]
pub(super) struct LineCounts(Mutex<LineCounters>);

#[derive(Debug)]
struct LineCounters {
    throttle: Throttle,
    /// Dropped lines that [`take_silenced`](Lines::take_silenced) has not returned yet.
    silenced: u64,
}

impl Default for LineCounts {
    fn default() -> Self {
        Self(Mutex::new(LineCounters { throttle: Throttle::new(BURST, PER_SECOND), silenced: 0 }))
    }
}

impl LineCounts {
    /// Whether lines of a level are logged.
    pub(super) fn wants(level: Level) -> bool {
        match level {
            Level::ERROR => tracing::enabled!(Level::ERROR),
            Level::WARN => tracing::enabled!(Level::WARN),
            Level::INFO => tracing::enabled!(Level::INFO),
            _ => tracing::enabled!(Level::DEBUG),
        }
    }

    /// Writes line `number` of a call, unless it exceeds a limit.
    pub(super) fn write(&self, policy: &PolicyStamp, level: Level, number: u32, message: &str, now_ms: u64) {
        let LineAdmission::Write { suppressed } = self.admit(number, now_ms) else { return };
        let left_out = (suppressed > 0).then_some(suppressed);
        match level {
            Level::ERROR => tracing::error!(%policy, left_out, "{message}"),
            Level::WARN => tracing::warn!(%policy, left_out, "{message}"),
            Level::INFO => tracing::info!(%policy, left_out, "{message}"),
            _ => tracing::debug!(%policy, left_out, "{message}"),
        }
    }

    /// The number of lines dropped since the last call.
    pub(super) fn take_silenced(&self) -> u64 {
        std::mem::take(&mut hold(&self.0).silenced)
    }

    /// Counts the lines beyond the limit of one call.
    pub(super) fn leave_out(&self, lines: u32) {
        for _ in 0..lines {
            self.admit(MOST_IN_A_CALL, 0);
        }
    }

    fn admit(&self, number: u32, now_ms: u64) -> LineAdmission {
        let mut counted = hold(&self.0);
        let admission = match number {
            0..MOST_IN_A_CALL => counted.throttle.admit(now_ms),
            _ => counted.throttle.suppress(),
        };
        counted.silenced += u64::from(admission == LineAdmission::Suppress);
        admission
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_one_too_many_is_counted_once_for_the_log_and_once_for_the_metric() {
        let lines = LineCounts::default();
        // How many lines these calls wrote, and how many dropped lines they reported.
        let write = |calls: u32, now_ms| {
            let lines = (0..calls).flat_map(|_| 0..=MOST_IN_A_CALL).map(|number| lines.admit(number, now_ms));
            lines.fold((0, 0), |(written, told), admission| match admission {
                LineAdmission::Write { suppressed } => (written + 1, told + suppressed),
                LineAdmission::Suppress => (written, told),
            })
        };
        assert_eq!(write(1, 1_000), (16, 0), "16 lines per call");
        assert_eq!(lines.take_silenced(), 1);
        assert_eq!(write(9, 1_000), (48, 3), "a burst of 64");
        assert_eq!(lines.take_silenced(), 9 * 17 - 48);
        assert_eq!(lines.take_silenced(), 0);
        assert_eq!(write(1, 2_000), (16, 1 + 9 * 17 - 48 - 3), "16 per second");
    }
}
