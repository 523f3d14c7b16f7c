//! Progress of a transfer, for a person at a terminal.

use std::io::{self, IsTerminal, Write};

/// Shows on a terminal how much of something has come, on one line that ends with the last byte.
pub(crate) fn progress(what: &str, done: usize, size: usize) {
    const MIB: f64 = (1 << 20) as f64;
    let mut out = io::stderr().lock();
    if !out.is_terminal() {
        return;
    }
    #[expect(clippy::cast_precision_loss, reason = "a tenth of a MiB is all that is shown")]
    let [done_mib, size_mib] = [done, size].map(|bytes| bytes as f64 / MIB);
    let end = if done >= size { "\n" } else { "" };
    // A failure to write to standard error cannot be reported anywhere.
    let _ = write!(out, "\r{what}: {done_mib:.1} of {size_mib:.1} MiB{end}");
}
