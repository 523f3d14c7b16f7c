//! The conformance suite for policies that a configuration names: runs it beside the requests, one policy at a time.

use std::sync::Arc;

use tenure_engine::Engine;
use tenure_supervise::Interruptible;

/// Makes the checks that wait.
pub(crate) struct VettingPart(Arc<Engine>);

impl VettingPart {
    pub(crate) fn build(engine: Arc<Engine>) -> Self {
        Self(engine)
    }
}

impl Interruptible for VettingPart {
    async fn work(&mut self) {
        loop {
            while self.0.make_check().await {}
            self.0.check_due().await;
        }
    }
}
