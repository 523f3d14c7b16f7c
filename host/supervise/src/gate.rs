//! A one-time signal from one part to others.

use tokio_util::sync::CancellationToken;

use crate::part::Part;

/// A gate that opens once and stays open.
#[derive(Debug, Clone, Default)]
pub struct Gate(CancellationToken);

impl Gate {
    /// Opens the gate for current and future waiters.
    pub fn open(&self) {
        self.0.cancel();
    }

    /// Whether it is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until the gate is open.
    pub async fn passed(&self) {
        self.0.cancelled().await;
    }

    /// A part that works once the gate is open.
    pub fn before<P: Part>(&self, part: P) -> Gated<P> {
        Gated { gate: self.clone(), part }
    }
}

/// A part behind a gate.
#[derive(Debug)]
pub struct Gated<P> {
    gate: Gate,
    part: P,
}

impl<P: Part> Part for Gated<P> {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        match stop.run_until_cancelled(self.gate.passed()).await {
            Some(()) => self.part.run(stop).await,
            None => Ok(()),
        }
    }
}
