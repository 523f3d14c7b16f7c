//! Gives back to delegates what nobody uses any more, and asks those that fail whether they work again.

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tenure_supervise::{Interruptible, beat, idle_beat};
use tenure_types::ConditionName;

/// How often to look, even if nothing is known to be left.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Looks for what delegates have to take back.
pub(crate) struct DelegatesPart {
    engine: Arc<Engine>,
}

impl DelegatesPart {
    pub(crate) fn build(engine: Arc<Engine>) -> Self {
        Self { engine }
    }
}

impl Interruptible for DelegatesPart {
    async fn work(&mut self) {
        loop {
            // What could not be given back is tried again.
            let left = self.engine.tidy().await;
            if left > 0 {
                tracing::debug!(left, "some addresses could not be returned to their delegates");
            }
            let conditions = self.engine.conditions().list();
            let fails = conditions.iter().any(|condition| condition.name == ConditionName::DelegateFailing);
            let is_pending = left > 0 || fails;
            tokio::select! {
                () = beat(LOOK_AGAIN), if is_pending => {}
                () = idle_beat(LOOK_AGAIN), if !is_pending => {}
                () = self.engine.untidy() => {}
            }
        }
    }
}
