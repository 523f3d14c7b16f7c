//! Looks for AddressPools that are not there, or that lack a family of their network or may have lost it: the next one comes ever later, so that a name that no pool has
//! costs the API server next to nothing, however many nodes have it in their configuration.
//!
//! Nobody tells a node of a pool that it does not know yet. While a pod waits for one, the node looks more often.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_effects::budget::Jitter;

use crate::agent::pause::{DoublingPause, PauseBounds};

/// The pauses between two looks for a pool.
const PAUSES: PauseBounds = PauseBounds { first: Duration::from_secs(3), longest: Duration::from_secs(64) };

/// The longest pause while a request waits for an address of the pool's network.
const AWAITED: Duration = Duration::from_secs(10);

/// The last look for each pool that is sought.
#[derive(Debug, Default)]
pub(crate) struct PoolLooks(BTreeMap<String, PoolLook>);

/// One of them.
#[derive(Debug)]
struct PoolLook {
    at: Duration,
    pause: DoublingPause,
}

impl PoolLooks {
    /// Whether it is too early to look for a pool again.
    pub(crate) fn is_early(&self, pool: &str, is_awaited: bool, now: Duration) -> bool {
        self.0.get(pool).is_some_and(|look| {
            let longest = if is_awaited { AWAITED } else { Duration::MAX };
            now < look.pause.until.min(look.at.saturating_add(longest))
        })
    }

    /// Notes a look.
    pub(crate) fn note(&mut self, pool: &str, now: Duration, jitter: &mut Jitter) {
        let before = self.0.get(pool).map(|look| look.pause);
        let mut pause = DoublingPause::after(before, PAUSES, now);
        // Nodes that start together would look together.
        pause.until = now.saturating_add(jitter.later(pause.until.saturating_sub(now)));
        self.0.insert(pool.to_owned(), PoolLook { at: now, pause });
    }

    /// Forgets the pools that are no longer sought.
    pub(crate) fn retain(&mut self, sought: &[&str]) {
        self.0.retain(|pool, _| sought.contains(&pool.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The looks of ten minutes, at one pass each second.
    fn looks(is_awaited: bool) -> u32 {
        let (mut looks, mut jitter, mut count) = (PoolLooks::default(), Jitter::new(1), 0);
        for now in (0..600).map(Duration::from_secs) {
            if !looks.is_early("blue", is_awaited, now) {
                looks.note("blue", now, &mut jitter);
                count += 1;
            }
        }
        count
    }

    #[test]
    fn a_pool_that_is_not_there_is_looked_for_once_a_minute_and_each_ten_seconds_while_a_pod_waits() {
        assert!((11..=14).contains(&looks(false)), "{}", looks(false));
        assert!((58..=63).contains(&looks(true)), "{}", looks(true));
    }

    #[test]
    fn a_pod_that_begins_to_wait_ends_the_long_pause_and_a_pool_that_came_the_memory_of_it() {
        let (mut looks, mut jitter) = (PoolLooks::default(), Jitter::new(1));
        for _ in 0..5 {
            looks.note("blue", Duration::ZERO, &mut jitter);
        }
        let now = Duration::from_secs(11);
        assert!(looks.is_early("blue", false, now) && !looks.is_early("blue", true, now));
        looks.retain(&["red"]);
        assert!(!looks.is_early("blue", false, now));
    }
}
