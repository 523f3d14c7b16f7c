//! The calling thread and the processors: how much of them it has had, and how it leaves them to others.

use std::time::Duration;

use rustix::process::setpriority_process;
use rustix::time::{ClockId, clock_gettime};

/// The lowest priority that there is.
pub(super) const LAST: i32 = 19;

/// The processor time that the calling thread has used since it began.
pub(super) fn time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Lets the calling thread, and those that it starts from now on, run only when nobody else on the machine wants to.
///
/// There is no way back without privileges.
pub(super) fn give_way() {
    // On Linux a priority is a thread's, and none is the calling one.
    if let Err(error) = setpriority_process(None, LAST) {
        tracing::debug!(%error, "a policy that takes long keeps its priority");
    }
}
