//! What the daemon is told by signals. They are heard from the beginning, so that none ends it half started.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that mean something.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Hears the signals from now on.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits to be told to stop, and says by what.
    pub(crate) async fn stop(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hangup.recv() => tracing::warn!(
                    "SIGHUP: nothing is reloaded; the configuration is read when the daemon starts, so restart it"
                ),
            }
        }
    }
}
