//! Hints that were not followed: each is looked at again after a pause, and its reason is logged once.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_leases::Uid;

use crate::agent::pause::{DoublingPause, PauseBounds};

/// The pauses before a block that was not accepted is looked at again.
const PAUSES: PauseBounds = PauseBounds { first: Duration::from_secs(2), longest: Duration::from_secs(64) };

/// The hints that were not followed, by the uid of the lease.
#[derive(Debug, Default)]
pub(crate) struct Hesitations(BTreeMap<Uid, Hesitation>);

/// One of them.
#[derive(Debug)]
struct Hesitation {
    why: String,
    /// The next look is made when it is over.
    pause: DoublingPause,
}

impl Hesitations {
    /// Whether it is too early to look at a block again.
    pub(crate) fn is_early(&self, uid: Uid, now: Duration) -> bool {
        self.0.get(&uid).is_some_and(|hesitation| now < hesitation.pause.until)
    }

    /// Notes that a block was not accepted. Returns whether the reason is news.
    pub(crate) fn note(&mut self, uid: Uid, why: String, now: Duration) -> bool {
        let before = self.0.get(&uid);
        let is_news = before.is_none_or(|before| before.why != why);
        let pause = DoublingPause::after(before.map(|before| before.pause), PAUSES, now);
        self.0.insert(uid, Hesitation { why, pause });
        is_news
    }

    /// Has the blocks that are hinted at looked at without a pause: the operator may have said something else.
    pub(crate) fn look_again(&mut self, hinted: impl Fn(Uid) -> bool) {
        self.0.retain(|uid, _| hinted(*uid));
        self.0.values_mut().for_each(|hesitation| hesitation.pause.until = Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_is_not_accepted_is_looked_at_once_a_minute_and_told_once() {
        let (mut hesitations, mut now) = (Hesitations::default(), Duration::ZERO);
        let (mut looks, mut told) = (0, 0);
        // The agent makes a pass each second.
        for _ in 0..600 {
            if !hesitations.is_early(Uid(1), now) {
                looks += 1;
                told += u32::from(hesitations.note(Uid(1), "range 1 is closed".to_owned(), now));
            }
            now += Duration::from_secs(1);
        }
        assert_eq!((looks, told), (14, 1));
        assert!(hesitations.is_early(Uid(1), now) && !hesitations.is_early(Uid(2), now));
        hesitations.look_again(|uid| uid == Uid(1));
        assert!(!hesitations.is_early(Uid(1), now));
        assert!(hesitations.note(Uid(1), "the block is marked".to_owned(), now));
        hesitations.look_again(|_| false);
        assert!(hesitations.note(Uid(1), "the block is marked".to_owned(), now), "another lease");
    }
}
