//! The proof that the sandbox of a pod's predecessor is gone, inside of the ADD of its successor.

use std::sync::Arc;

use tenure_engine::ports::{Answer, Predecessors};
use tenure_types::{Allocation, Moment};

use crate::leaks::NEW_NS;
use crate::{PodReport, SandboxEvidence, Sandboxes, WitnessVerdict};

impl Predecessors for Sandboxes {
    /// Asks the runtime once, and the API server nothing: another pod has the name, so the old one is gone from there. The proof is that of the
    /// table of [`SandboxEvidence`], with one look in place of two. So it does not hold for an ADD that may still be under way: a sandbox whose
    /// namespace this daemon cannot see is gone only if it was old enough to be listed.
    fn gone<'a>(&'a self, held: &'a [Arc<Allocation>], now: Moment) -> Answer<'a, Vec<Arc<Allocation>>> {
        Box::pin(async move {
            let evidence = self.look_beside_pods(held).await;
            let is_gone = |(held, evidence): &(&Arc<Allocation>, SandboxEvidence)| {
                let replaced = SandboxEvidence { pod: WitnessVerdict::Absent, ..*evidence };
                let is_old = now.boot_ns.saturating_sub(held.requested_at.boot_ns) >= NEW_NS;
                replaced.proves_gone() && (evidence.namespace == WitnessVerdict::Absent || is_old)
            };
            let gone = held.iter().zip(evidence).filter(is_gone);
            Ok(gone.map(|(held, _)| Arc::clone(held)).collect())
        })
    }

    fn freed(&self, held: &Allocation) {
        self.report(held, PodReport::Reclaimed);
    }
}

#[cfg(test)]
mod tests;
