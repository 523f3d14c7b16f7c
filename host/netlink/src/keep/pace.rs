//! How fast the keeper goes: at once where something happens for once, slower where somebody works against it.

use std::time::Duration;

/// The first pause, in which the changes of one command arrive.
const SHORTEST: Duration = Duration::from_millis(20);
/// The longest pause before a repair. The whole time of gathering is less than twice that, and with the repair within a second.
const LONGEST: Duration = Duration::from_millis(400);
/// The shortest time that is still worth waiting for one more change.
const WORTH: Duration = Duration::from_millis(1);
/// The pauses before something that failed is tried again.
const RETRY: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

/// The keeper's pauses.
#[derive(Debug)]
pub(super) struct Pace {
    pause: Duration,
    /// The next wait for one more change.
    next: Duration,
    /// The least time between a change and the look that it causes.
    patience: Duration,
    retry: Duration,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { pause: SHORTEST, next: SHORTEST, patience: Duration::ZERO, retry: RETRY.0 }
    }

    /// Something had to be done, or failed.
    pub(super) fn worked(&mut self) {
        self.pause = (self.pause * 2).min(LONGEST);
    }

    /// A change was noticed, and nothing had to be done. A look costs a dump of everything and a process: a pod that sets its own end down
    /// and up without end must not keep the node busy with that.
    pub(super) fn looked_in_vain(&mut self) {
        self.worked();
        self.patience = self.pause;
    }

    /// Nothing is left to do.
    pub(super) fn succeeded(&mut self) {
        self.retry = RETRY.0;
    }

    /// Nothing happened for a whole period.
    pub(super) fn rested(&mut self) {
        (self.pause, self.patience) = (SHORTEST, Duration::ZERO);
    }

    /// Begins to gather changes; returns the least time for that while they do not end.
    pub(super) fn begin(&mut self) -> Duration {
        self.next = self.pause;
        self.patience
    }

    /// How long to wait for one more change before looking; half as long each time, so that a stream of changes delays no repair.
    pub(super) fn gather(&mut self) -> Option<Duration> {
        let now = self.next;
        self.next = now / 2;
        (now >= WORTH).then_some(now)
    }

    /// How long to wait after a failure, longer each time.
    pub(super) fn retry(&mut self) -> Duration {
        let now = self.retry;
        self.retry = (now * 2).min(RETRY.1);
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_delays_a_repair_by_a_second() {
        let mut pace = Pace::new();
        for _ in 0..20 {
            pace.worked();
        }
        assert_eq!(pace.begin(), Duration::ZERO);
        let whole: Duration = std::iter::from_fn(|| pace.gather()).sum();
        assert!(whole < Duration::from_millis(800), "{whole:?}");
        pace.rested();
        assert_eq!((pace.begin(), pace.gather()), (Duration::ZERO, Some(SHORTEST)));
    }

    #[test]
    fn changes_without_end_that_nothing_is_to_be_done_about_cost_a_few_looks_a_second() {
        let mut pace = Pace::new();
        assert_eq!(pace.begin(), Duration::ZERO);
        let patience: Vec<Duration> = std::iter::repeat_with(|| {
            pace.looked_in_vain();
            pace.begin()
        })
        .take(8)
        .collect();
        assert!(patience.is_sorted());
        assert_eq!(patience.last(), Some(&LONGEST));
        pace.worked();
        assert_eq!(pace.begin(), LONGEST, "a repair in between changes nothing");
        pace.rested();
        assert_eq!(pace.begin(), Duration::ZERO);
    }

    #[test]
    fn what_fails_is_tried_less_and_less_often() {
        let mut pace = Pace::new();
        let pauses: Vec<Duration> = (0..12).map(|_| pace.retry()).collect();
        assert!(pauses.is_sorted());
        assert_eq!((pauses.first(), pauses.last()), (Some(&RETRY.0), Some(&RETRY.1)));
        pace.succeeded();
        assert_eq!(pace.retry(), RETRY.0);
    }
}
