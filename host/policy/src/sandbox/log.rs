//! The log lines of one call: written at once, or held back until the call is known to count.

use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure_types::PolicyStamp;
use tracing::Level;

use super::lines::{LineCounts, MOST_IN_A_CALL};

/// The lines of one call, before they reach those of its policy.
#[derive(Debug)]
pub(super) struct CallLog {
    policy: Arc<PolicyStamp>,
    lines: Arc<LineCounts>,
    /// The number of lines so far, of levels that are logged.
    number: u32,
    /// The first lines, if they are held back; dropping them leaves no trace of the call.
    held: Option<Vec<(Level, String)>>,
    /// The first lines of any level, if the caller wants them.
    kept: Option<Vec<String>>,
}

impl CallLog {
    /// Creates the log of a call that counts with any outcome.
    pub(super) fn new(policy: Arc<PolicyStamp>, lines: Arc<LineCounts>) -> Self {
        Self { policy, lines, number: 0, held: None, kept: None }
    }

    /// For a call that may be dropped and made again.
    pub(super) fn held(policy: Arc<PolicyStamp>, lines: Arc<LineCounts>) -> Self {
        Self { held: Some(Vec::new()), ..Self::new(policy, lines) }
    }

    /// Keeps the first lines for the caller, logged or not.
    pub(super) fn keep(&mut self) {
        self.kept = Some(Vec::new());
    }

    /// The lines that were kept.
    pub(super) fn take_kept(&mut self) -> Vec<String> {
        self.kept.take().unwrap_or_default()
    }

    /// Writes a line, or holds it back.
    pub(super) fn write(&mut self, level: Level, message: &str) {
        let most = usize::try_from(MOST_IN_A_CALL).unwrap_or(usize::MAX);
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.len() < most) {
            kept.push(message.to_owned());
        }
        if !LineCounts::wants(level) {
            return;
        }
        match &mut self.held {
            None => self.lines.write(&self.policy, level, self.number, message, monotonic_ms()),
            Some(held) if self.number < MOST_IN_A_CALL => held.push((level, message.to_owned())),
            Some(_) => {}
        }
        self.number = self.number.saturating_add(1);
    }

    /// Writes the lines that were held back, since the call counts.
    pub(super) fn release(&mut self) {
        let Some(held) = self.held.take().filter(|held| !held.is_empty()) else { return };
        let now_ms = monotonic_ms();
        for (number, (level, message)) in (0..).zip(held) {
            self.lines.write(&self.policy, level, number, &message, now_ms);
        }
        self.lines.leave_out(self.number.saturating_sub(MOST_IN_A_CALL));
    }
}

/// Milliseconds of a monotonic clock.
fn monotonic_ms() -> u64 {
    let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
