//! The watch for leaked allocations.

use tenure_runtime::Leaks;
use tokio_util::sync::CancellationToken;

use super::{Kind, Part};

/// Frees leaked allocations, if a container runtime is configured.
pub(crate) struct LeakWatch(Leaks);

impl LeakWatch {
    pub(crate) fn build(leaks: Leaks) -> Self {
        Self(leaks)
    }
}

#[tonic::async_trait]
impl Part for LeakWatch {
    fn name(&self) -> &'static str {
        "leaks"
    }

    fn kind(&self) -> Kind {
        Kind::Restarted
    }

    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        stop.run_until_cancelled(self.0.watch()).await;
        Ok(())
    }
}
