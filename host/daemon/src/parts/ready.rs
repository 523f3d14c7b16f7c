//! Notifies the service manager when the daemon serves.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tenure_policy::Policies;
use tenure_supervise::{Gate, Interruptible};
use tokio::time::timeout;

use crate::policies;

/// How long to delay the notification for the socket of pods, and the policies that served before. The service manager kills a daemon that takes
/// longer than its own timeout, and starts container runtimes only after this: what only a person can end, such as a full disk, must not
/// hold them up, nor take `admin.sock` away from who ends it.
const MOST: Duration = Duration::from_secs(30);

/// Notifies once the sockets exist and the policies that served before are loaded.
pub(crate) struct ReadyPart {
    /// The socket of pods.
    cni: Gate,
    /// The socket of operators.
    admin: Gate,
    policies: Arc<Policies>,
}

impl ReadyPart {
    pub(crate) fn build(cni: Gate, admin: Gate, policies: Arc<Policies>) -> Self {
        Self { cni, admin, policies }
    }
}

impl Interruptible for ReadyPart {
    async fn work(&mut self) {
        self.admin.passed().await;
        if !serves(&self.cni, policies::loaded(&self.policies)).await {
            tracing::warn!("not all is served yet: `tenurectl status` says what it waits for");
        }
        // This fails without a service manager.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
    }
}

/// Whether pods are served, by the policies that served before, within [`MOST`].
async fn serves(cni: &Gate, loaded: impl Future<Output = ()>) -> bool {
    let all = async {
        cni.passed().await;
        tracing::info!("serving");
        loaded.await;
    };
    timeout(MOST, all).await.is_ok()
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_only_a_person_ends_holds_the_notification_up_for_a_time() {
        let cni = Gate::default();
        assert!(!serves(&cni, ready(())).await, "the socket is still to come");
        cni.open();
        assert!(!serves(&cni, pending()).await, "a policy is still being compiled");
        assert!(serves(&cni, ready(())).await);
    }
}
