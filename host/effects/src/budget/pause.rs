//! For how long something is not asked for that was refused.

use std::time::Duration;

use super::jitter::Jitter;

/// The first pause.
const FIRST: Duration = Duration::from_secs(30);

/// The longest: pods may be waiting, and somebody else ends the cause without a word. ipamd waits as long.
const LONGEST: Duration = Duration::from_secs(120);

/// A pause, and how long the next one is.
#[derive(Debug, Default)]
pub struct Pause {
    /// End of the pause, by the boot clock.
    pub until: Duration,
    next: Duration,
}

impl Pause {
    /// Begins a pause, twice as long as the last one. During a pause, it stays as it is: several calls were under way.
    pub fn extend(&mut self, now: Duration, jitter: &mut Jitter) {
        self.extend_up_to(LONGEST, now, jitter);
    }

    /// The same with another longest pause.
    pub fn extend_up_to(&mut self, longest: Duration, now: Duration, jitter: &mut Jitter) {
        if self.until > now {
            return;
        }
        let long = self.next.max(FIRST).min(longest);
        self.until = now.saturating_add(jitter.around(long));
        self.next = long.saturating_mul(2).min(longest);
    }
}
