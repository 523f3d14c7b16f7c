//! What a call and whoever waits for it tell each other while it runs.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::setpriority_process;

/// The priority of a call that takes long: the lowest there is.
const LAST: i32 = 19;

/// One running call.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Nobody waits for the answer any more.
    gone: AtomicBool,
    /// The thread of the call was made to give way to everybody else.
    demoted: AtomicBool,
}

impl Watch {
    /// Nobody waits any more: the call ends at its next look at the clock.
    pub(super) fn give_up(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Lets the calling thread run only when nobody else on the machine wants to. There is no way back without privileges.
    pub(super) fn demote(&self) {
        if self.demoted.swap(true, Ordering::Relaxed) {
            return;
        }
        // On Linux a priority is a thread's, and none is the calling one.
        if let Err(error) = setpriority_process(None, LAST) {
            tracing::debug!(%error, "a policy call that takes long keeps its priority");
        }
    }

    pub(super) fn is_demoted(&self) -> bool {
        self.demoted.load(Ordering::Relaxed)
    }
}
