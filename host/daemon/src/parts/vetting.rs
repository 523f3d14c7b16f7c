//! The conformance suite for policies that a configuration names: runs it beside the requests, one policy at a time.

use std::sync::Arc;

use tenure_engine::Engine;
use tokio_util::sync::CancellationToken;

use super::{Kind, Part};

/// Makes the checks that wait.
pub(crate) struct Vetting(Arc<Engine>);

impl Vetting {
    pub(crate) fn build(engine: Arc<Engine>) -> Self {
        Self(engine)
    }

    async fn follow(&self) {
        loop {
            while self.0.make_check().await {}
            self.0.check_due().await;
        }
    }
}

#[tonic::async_trait]
impl Part for Vetting {
    fn name(&self) -> &'static str {
        "vetting"
    }

    fn kind(&self) -> Kind {
        Kind::Restarted
    }

    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        stop.run_until_cancelled(self.follow()).await;
        Ok(())
    }
}
