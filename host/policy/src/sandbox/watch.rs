//! Checks of a call on one of the policies' threads while it runs: whether anyone still waits for it, and whether
//! it is slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::threads::Seat;
use super::trust::Trust;

/// One running call.
#[derive(Debug)]
pub(super) struct CallWatch {
    /// Set once nobody waits for the answer.
    given_up: Arc<AtomicBool>,
    /// The seat of its thread.
    seat: Arc<Seat>,
    /// The record of calls of its kind.
    trust: Arc<Trust>,
}

impl CallWatch {
    pub(super) fn new(given_up: Arc<AtomicBool>, seat: &Arc<Seat>, trust: Arc<Trust>) -> Self {
        Self { given_up, seat: Arc::clone(seat), trust }
    }

    /// Whether nobody waits: the call ends at its next check.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Records that the call is slow: its thread drops to the lowest priority, and the policy's next calls start
    /// there.
    pub(super) fn is_slow(&self, used: Duration) {
        self.trust.learn(used);
        self.seat.give_way();
    }

    /// Records the end of the call. One that nobody waited for may have been cut short, so its duration is ignored.
    pub(super) fn has_ended(&self, used: Duration) {
        if !self.is_given_up() {
            self.trust.learn(used);
        }
    }
}
