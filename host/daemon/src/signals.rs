//! What the daemon is told by signals. They are heard from the beginning, so that none ends it half started.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that stop the daemon.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Hears the signals from now on. Needs a tokio runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits to be told to stop, and says by what.
    pub(crate) async fn stop(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// Hears SIGHUP from now on. Needs a tokio runtime.
pub(crate) fn hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}
