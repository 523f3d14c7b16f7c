//! The watch for leaked allocations.

use tenure_supervise::Interruptible;

/// Frees leaked allocations, if a container runtime is configured.
pub(crate) struct LeaksPart(tenure_runtime::Leaks);

impl LeaksPart {
    pub(crate) fn build(leaks: tenure_runtime::Leaks) -> Self {
        Self(leaks)
    }
}

impl Interruptible for LeaksPart {
    async fn work(&mut self) {
        self.0.watch().await;
    }
}
