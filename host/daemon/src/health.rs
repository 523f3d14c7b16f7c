//! Looks after what nobody reports by itself: full pools, networks out of bounds, and what `grpc.health.v1` says.

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tenure_rpc::server::{HealthReporter, ServingStatus};

/// How often it is looked at; readiness changes with the disk and by an operator's word.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The same while ADD is refused: whoever waits for the node hears of it soon.
const LOOK_SOON: Duration = Duration::from_millis(200);

/// Follows the engine's conditions for as long as the daemon serves.
pub(crate) async fn follow(reporter: HealthReporter, engine: Arc<Engine>) {
    let mut told = None;
    loop {
        engine.look_at_networks();
        let status = match engine.readiness() {
            Ok(()) => ServingStatus::Serving,
            Err(_) => ServingStatus::NotServing,
        };
        if told != Some(status) {
            // The empty name is the whole server.
            reporter.set_service_status("", status).await;
            told = Some(status);
        }
        let pause = if status == ServingStatus::Serving { LOOK_AGAIN } else { LOOK_SOON };
        tokio::time::sleep(pause).await;
    }
}
