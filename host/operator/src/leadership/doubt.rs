//! Whether the store may be a backup that was put back: what the election finds in the Lease, and how long the operator waits because of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A doubt about the store, shared by the election and the operator of one program.
///
/// The Lease carries it to a successor: else one that takes over in the pause after a restore would grant.
#[derive(Debug, Clone, Default)]
pub struct StoreDoubt(Arc<DoubtFlags>);

#[derive(Debug, Default)]
struct DoubtFlags {
    /// The election found a reason, and the operator has not heard of it.
    is_raised: AtomicBool,
    /// The operator waits.
    is_pausing: AtomicBool,
}

impl StoreDoubt {
    /// Raises the doubt.
    pub(super) fn raise(&self) {
        self.0.is_raised.store(true, Ordering::Release);
    }

    /// Whether a successor must be told.
    pub(super) fn stands(&self) -> bool {
        self.0.is_raised.load(Ordering::Acquire) || self.0.is_pausing.load(Ordering::Acquire)
    }

    /// Whether the doubt was raised since the last call.
    #[must_use]
    pub fn take(&self) -> bool {
        // In this order it stands all the time.
        let is_raised = self.0.is_raised.load(Ordering::Acquire);
        if is_raised {
            self.pauses(true);
            self.0.is_raised.store(false, Ordering::Release);
        }
        is_raised
    }

    /// Notes whether the operator waits because of a doubt.
    pub fn pauses(&self, is_pausing: bool) {
        self.0.is_pausing.store(is_pausing, Ordering::Release);
    }
}
