//! The timer of executors.

use std::pin::Pin;
use std::time::Duration;

use tenure_aws::executor::Timer;
use tokio::time::sleep;

/// Waits by the runtime's clock.
pub(super) struct TokioTimer;

impl Timer for TokioTimer {
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(sleep(time))
    }
}
