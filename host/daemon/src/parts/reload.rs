//! Reloads the configuration on SIGHUP.

use std::sync::Arc;

use tenure_supervise::Interruptible;
use tokio::signal::unix::Signal;

use crate::live::Live;

/// Listens for SIGHUP.
pub(crate) struct ReloadPart {
    signal: Signal,
    live: Arc<Live>,
}

impl ReloadPart {
    pub(crate) fn build(signal: Signal, live: Arc<Live>) -> Self {
        Self { signal, live }
    }
}

impl Interruptible for ReloadPart {
    async fn work(&mut self) {
        while self.signal.recv().await.is_some() {
            tracing::info!("SIGHUP: reloading the configuration");
            // `reload` logs the result.
            let _ = self.live.reload().await;
        }
    }
}
