//! Polls for conditions that are not reported as they occur (full pools, networks out of bounds), and updates `grpc.health.v1`.

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tenure_rpc::server::{HealthReporter, ServingStatus};
use tenure_supervise::{Interruptible, beat, idle_beat};

/// How often to poll, unless the node is idle; readiness changes with the disk and when an operator acts.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// How often to poll while ADD is refused, so that callers who wait for the node learn of its readiness soon.
const LOOK_SOON: Duration = Duration::from_millis(200);

/// Follows the engine's conditions while the daemon serves.
pub(crate) struct HealthPart {
    reporter: HealthReporter,
    engine: Arc<Engine>,
}

impl HealthPart {
    pub(crate) fn build(reporter: HealthReporter, engine: Arc<Engine>) -> Self {
        Self { reporter, engine }
    }
}

impl Interruptible for HealthPart {
    async fn work(&mut self) {
        let mut told = None;
        loop {
            self.engine.compare_again().await;
            self.engine.look_at_networks();
            let status = match self.engine.readiness() {
                Ok(()) => ServingStatus::Serving,
                Err(_) => ServingStatus::NotServing,
            };
            if told != Some(status) {
                // The empty name means the whole server.
                self.reporter.set_service_status("", status).await;
                told = Some(status);
            }
            if status == ServingStatus::Serving {
                idle_beat(LOOK_AGAIN).await;
            } else {
                beat(LOOK_SOON).await;
            }
        }
    }
}
