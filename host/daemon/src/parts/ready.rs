//! Tells the service manager that the daemon serves.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tenure_policy::Policies;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{Gate, Kind, Part};
use crate::policies;

/// How long a service manager waits at most for what served before to be loaded: one that waits for longer would end the daemon.
const MOST: Duration = Duration::from_secs(30);

/// Says so once the sockets are there and what served before is loaded.
pub(crate) struct Ready {
    listening: [Gate; 2],
    policies: Arc<Policies>,
}

impl Ready {
    pub(crate) fn build(listening: [Gate; 2], policies: Arc<Policies>) -> Self {
        Self { listening, policies }
    }

    async fn tell(&self) {
        for socket in &self.listening {
            socket.passed().await;
        }
        tracing::info!("serving");
        if timeout(MOST, policies::loaded(&self.policies)).await.is_err() {
            tracing::warn!("policies that served before are still being compiled");
        }
        // Without a service manager there is nobody to tell.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
    }
}

#[tonic::async_trait]
impl Part for Ready {
    fn name(&self) -> &'static str {
        "ready"
    }

    fn kind(&self) -> Kind {
        Kind::Finite
    }

    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        stop.run_until_cancelled(self.tell()).await;
        Ok(())
    }
}
