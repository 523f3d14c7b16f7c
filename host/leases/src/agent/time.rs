//! The agent's durable time: for how long its machine has run, as far as it was noted.
//!
//! ```text
//!   noted in this boot      the noted time, and what the boot clock has counted since
//!   noted in another boot   the noted time, and what the boot clock has counted in this boot
//!   never noted             what the boot clock has counted in this boot
//! ```
//!
//! No wall clock has a part in it: one that is set forward would end what is to last, and one that is set back would keep it. The time for which the
//! machine is off does not count, nor that between the last note and the end of a boot. So it may be slow, and is never fast.

use crate::Uid;

/// Seconds after which the time is noted again, while something waits for it.
pub const NOTE_EVERY_SECONDS: u64 = 3600;

/// The durable time at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotedTime {
    /// The durable time, in seconds.
    pub seconds: u64,
    /// The boot in which it was noted.
    pub boot: Uid,
    /// The boot clock's reading at that moment, in seconds.
    pub reading: u64,
}

impl NotedTime {
    /// The time now, from the last note. `reading` is the boot clock's, in seconds.
    #[must_use]
    pub fn now(last: Option<Self>, boot: Uid, reading: u64) -> Self {
        let seconds = match last {
            Some(last) if last.boot == boot => {
                last.seconds.saturating_add(reading.saturating_sub(last.reading))
            }
            Some(last) => last.seconds.saturating_add(reading),
            None => reading,
        };
        Self { seconds, boot, reading }
    }

    /// Whether the time is to be noted again, so that the end of this boot costs little of it.
    #[must_use]
    pub fn is_note_due(self, last: Option<Self>) -> bool {
        last.is_none_or(|last| self.seconds.saturating_sub(last.seconds) >= NOTE_EVERY_SECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_adds_up_over_boots_and_is_never_fast() {
        let (one, two) = (Uid(1), Uid(2));
        let first = NotedTime::now(None, one, 100);
        assert_eq!(first, NotedTime { seconds: 100, boot: one, reading: 100 });
        let later = NotedTime::now(Some(first), one, 150);
        assert_eq!(later.seconds, 150);
        // The next boot begins at zero. What came after the last note of the one before does not count.
        let next = NotedTime::now(Some(later), two, 30);
        assert_eq!(next, NotedTime { seconds: 180, boot: two, reading: 30 });
        assert_eq!(NotedTime::now(Some(next), two, 31).seconds, 181);
        // A boot clock never goes back; if it did, no time would have passed.
        assert_eq!(NotedTime::now(Some(next), two, 5).seconds, 180);
    }

    #[test]
    fn a_note_is_due_once_an_hour() {
        let noted = NotedTime::now(None, Uid(1), 100);
        let due = |reading| NotedTime::now(Some(noted), Uid(1), reading).is_note_due(Some(noted));
        assert!(noted.is_note_due(None));
        assert_eq!((due(99 + NOTE_EVERY_SECONDS), due(100 + NOTE_EVERY_SECONDS)), (false, true));
    }
}
