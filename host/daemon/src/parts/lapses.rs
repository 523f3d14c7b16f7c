//! Ends the claims of agents that are gone, where an agent or the configuration has set a time for that.

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tenure_supervise::{Interruptible, beat, idle_beat};

/// How often to look.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Looks for claims that have lapsed.
pub(crate) struct LapsesPart {
    engine: Arc<Engine>,
}

impl LapsesPart {
    pub(crate) fn build(engine: Arc<Engine>) -> Self {
        Self { engine }
    }
}

impl Interruptible for LapsesPart {
    async fn work(&mut self) {
        loop {
            // One that could not be recorded is still there at the next look.
            if let Err(error) = self.engine.lapse().await {
                tracing::warn!(cause = error.cause, "cannot release claims that have lapsed");
            }
            if self.engine.claims_may_lapse() {
                beat(LOOK_AGAIN).await;
            } else {
                idle_beat(LOOK_AGAIN).await;
            }
        }
    }
}
