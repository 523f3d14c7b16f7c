//! Notifies the service manager when the daemon serves.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tenure_policy::Policies;
use tenure_supervise::{Gate, Interruptible};
use tokio::time::timeout;

use crate::policies;

/// How long to delay the notification until the policies that served before are loaded. The service manager kills a daemon
/// that takes longer than its own timeout.
const MOST: Duration = Duration::from_secs(30);

/// Notifies once the sockets exist and the policies that served before are loaded.
pub(crate) struct ReadyPart {
    listening: [Gate; 2],
    policies: Arc<Policies>,
}

impl ReadyPart {
    pub(crate) fn build(listening: [Gate; 2], policies: Arc<Policies>) -> Self {
        Self { listening, policies }
    }
}

impl Interruptible for ReadyPart {
    async fn work(&mut self) {
        for socket in &self.listening {
            socket.passed().await;
        }
        tracing::info!("serving");
        if timeout(MOST, policies::loaded(&self.policies)).await.is_err() {
            tracing::warn!("policies that served before are still being compiled");
        }
        // This fails without a service manager.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
    }
}
