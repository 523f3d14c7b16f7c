//! The calling thread's processor time and priority.

use std::time::Duration;

use rustix::process::setpriority_process;
use rustix::time::{ClockId, clock_gettime};

/// The lowest priority.
pub(super) const LAST: i32 = 19;

/// The processor time that the calling thread has used since it started.
pub(crate) fn time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Lowers the calling thread, and threads that it starts from now on, to the lowest priority.
///
/// Raising it again needs privileges.
pub(super) fn give_way() {
    // On Linux priorities are per thread, and `None` is the calling thread.
    if let Err(error) = setpriority_process(None, LAST) {
        tracing::debug!(%error, "cannot lower the priority of a slow policy call");
    }
}
