//! Ends the claims of agents that are gone, where an agent or the configuration has set a time for that.

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Kind, Part};

/// How often to look.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Looks for claims that have lapsed.
pub(crate) struct Lapses {
    engine: Arc<Engine>,
}

impl Lapses {
    pub(crate) fn build(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    async fn follow(&self) {
        loop {
            // One that could not be recorded is still there at the next look.
            if let Err(error) = self.engine.lapse().await {
                tracing::warn!(cause = error.cause, "cannot release claims that have lapsed");
            }
            sleep(LOOK_AGAIN).await;
        }
    }
}

#[tonic::async_trait]
impl Part for Lapses {
    fn name(&self) -> &'static str {
        "lapses"
    }

    fn kind(&self) -> Kind {
        Kind::Restarted
    }

    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        stop.run_until_cancelled(self.follow()).await;
        Ok(())
    }
}
