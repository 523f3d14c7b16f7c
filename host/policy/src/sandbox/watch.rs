//! What a call on a thread of the policies looks at while it runs: who waits for it, and who else wants the thread's processor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::threads::Seat;
use super::trust::Trust;

/// One running call.
#[derive(Debug)]
pub(super) struct Watch {
    /// Set once nobody waits for the answer any more.
    given_up: Arc<AtomicBool>,
    /// Its thread's place among its like.
    seat: Arc<Seat>,
    /// What is known of calls of its kind.
    trust: Arc<Trust>,
}

impl Watch {
    pub(super) fn new(given_up: Arc<AtomicBool>, seat: &Arc<Seat>, trust: Arc<Trust>) -> Self {
        Self { given_up, seat: Arc::clone(seat), trust }
    }

    /// Whether nobody waits any more: the call ends at its next look at the clock.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// The call is a slow one: its thread gives way, and so do the calls that follow, from their beginning.
    pub(super) fn is_slow(&self, used: Duration) {
        self.trust.learn(used);
        self.seat.give_way();
    }

    /// The call has ended. One that nobody waited for was cut short, and says nothing.
    pub(super) fn has_ended(&self, used: Duration) {
        if !self.is_given_up() {
            self.trust.learn(used);
        }
    }
}
