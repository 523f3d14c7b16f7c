//! The work beside exchanges of policies: watching a new one, rolling it back, and following with shadows.

use std::sync::Arc;

use tenure_engine::Engine;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Kind, Part};

/// Tends the engine's watches and shadows.
pub(crate) struct Exchanges(Arc<Engine>);

impl Exchanges {
    pub(crate) fn build(engine: Arc<Engine>) -> Self {
        Self(engine)
    }
}

#[tonic::async_trait]
impl Part for Exchanges {
    fn name(&self) -> &'static str {
        "exchanges"
    }

    fn kind(&self) -> Kind {
        Kind::Restarted
    }

    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        while !stop.is_cancelled() {
            // Not interrupted, so that no roll-back is left half done.
            let pause = self.0.tend().await;
            tokio::select! {
                () = sleep(pause) => {}
                () = self.0.due() => {}
                () = stop.cancelled() => {}
            }
        }
        Ok(())
    }
}
