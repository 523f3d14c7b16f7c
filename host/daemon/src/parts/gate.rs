//! What one part waits for of another, once.

use tokio_util::sync::CancellationToken;

/// Opened once, and open from then on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate(CancellationToken);

impl Gate {
    /// Lets everybody pass who waits or comes.
    pub(crate) fn open(&self) {
        self.0.cancel();
    }

    /// Waits until it is open.
    pub(crate) async fn passed(&self) {
        self.0.cancelled().await;
    }
}
