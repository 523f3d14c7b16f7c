//! The work beside exchanges of policies: watching a new one, rolling it back, and following with shadows.

use std::sync::Arc;

use tenure_engine::Engine;
use tenure_supervise::{Part, beat};
use tokio_util::sync::CancellationToken;

/// Tends the engine's watches and shadows.
pub(crate) struct ExchangesPart(Arc<Engine>);

impl ExchangesPart {
    pub(crate) fn build(engine: Arc<Engine>) -> Self {
        Self(engine)
    }
}

impl Part for ExchangesPart {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        while !stop.is_cancelled() {
            // Not interrupted, so that no roll-back is left half done.
            let pause = self.0.tend().await;
            tokio::select! {
                () = beat(pause) => {}
                () = self.0.due() => {}
                () = stop.cancelled() => {}
            }
        }
        Ok(())
    }
}
