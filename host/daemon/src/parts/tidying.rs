//! Gives back to delegates what nobody uses any more, and asks those that fail whether they work again.

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{Kind, Part};

/// How often to look, even if nothing is known to be left.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Looks for what delegates have to take back.
pub(crate) struct Tidying {
    engine: Arc<Engine>,
}

impl Tidying {
    pub(crate) fn build(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    async fn follow(&self) {
        loop {
            // What could not be given back is tried again.
            let left = self.engine.tidy().await;
            if left > 0 {
                tracing::debug!(left, "some delegates could not take back what they gave");
            }
            let _ = timeout(LOOK_AGAIN, self.engine.untidy()).await;
        }
    }
}

#[tonic::async_trait]
impl Part for Tidying {
    fn name(&self) -> &'static str {
        "delegates"
    }

    fn kind(&self) -> Kind {
        Kind::Restarted
    }

    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        stop.run_until_cancelled(self.follow()).await;
        Ok(())
    }
}
