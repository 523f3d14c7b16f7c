//! A one-time signal from one part to others.

use tokio_util::sync::CancellationToken;

/// A gate that opens once and stays open.
#[derive(Debug, Clone, Default)]
pub struct Gate(CancellationToken);

impl Gate {
    /// Opens the gate for current and future waiters.
    pub fn open(&self) {
        self.0.cancel();
    }

    /// Waits until the gate is open.
    pub async fn passed(&self) {
        self.0.cancelled().await;
    }
}
