//! Signal handling. Handlers are installed first, so that no signal kills a half-started program.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that stop the program.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Installs the handlers. Needs a tokio runtime.
    ///
    /// # Errors
    /// Those of `sigaction(2)`.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for a signal to stop, and returns its name.
    pub async fn stop(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// Installs a handler for SIGHUP. Needs a tokio runtime.
///
/// # Errors
/// Those of `sigaction(2)`.
pub fn hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}
