//! The work beside exchanges of policies: watching a new one, rolling it back, and following with shadows.

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tenure_supervise::{Part, beat, idle_beat};
use tokio_util::sync::CancellationToken;

/// How often to look whether there is anything to tend.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

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
                () = wait(pause) => {}
                () = self.0.due() => {}
                () = stop.cancelled() => {}
            }
        }
        Ok(())
    }
}

async fn wait(pause: Option<Duration>) {
    match pause {
        Some(pause) => beat(pause).await,
        None => idle_beat(LOOK_AGAIN).await,
    }
}
