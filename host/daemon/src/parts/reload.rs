//! Reloads the configuration on SIGHUP.

use std::sync::Arc;

use tokio::signal::unix::Signal;
use tokio_util::sync::CancellationToken;

use super::{Kind, Part};
use crate::live::Live;

/// Listens for SIGHUP.
pub(crate) struct Hangups {
    signal: Signal,
    live: Arc<Live>,
}

impl Hangups {
    pub(crate) fn build(signal: Signal, live: Arc<Live>) -> Self {
        Self { signal, live }
    }

    async fn follow(&mut self) {
        while self.signal.recv().await.is_some() {
            tracing::info!("SIGHUP: reloading the configuration");
            // `reload` logs the result.
            let _ = self.live.reload().await;
        }
    }
}

#[tonic::async_trait]
impl Part for Hangups {
    fn name(&self) -> &'static str {
        "reload"
    }

    fn kind(&self) -> Kind {
        Kind::Restarted
    }

    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        stop.run_until_cancelled(self.follow()).await;
        Ok(())
    }
}
