//! Addresses of a pod's predecessor: the pod of the same name that it has replaced, such as one of a StatefulSet.
//!
//! The runtime has sent no DEL for it, or not yet. An ADD for which nothing is free, or not the address that it requests, looks for such an address, and frees it if its sandbox is
//! proven gone: an API server has one pod of a name, so the new pod's uid is the word about the old pod, and the container runtime's list is the
//! other half of the proof. Without it, a pool whose last address belongs to the predecessor would keep the successor out until the address is
//! found to have leaked.

use std::sync::{Arc, PoisonError};

use tenure_types::{Allocation, End, Request};

use crate::engine::Engine;
use crate::ports::Predecessors;

impl Engine {
    /// Asks this from now on whether the sandboxes of predecessors are gone.
    pub fn prove_predecessors(&self, predecessors: Arc<dyn Predecessors>) {
        *self.predecessors.write().unwrap_or_else(PoisonError::into_inner) = Some(predecessors);
    }

    /// Frees what the predecessors of a request's pod hold on its network, if their sandboxes are proven gone; returns whether there was any.
    pub(crate) async fn frees_predecessors(&self, request: &Request) -> bool {
        let prover = self.predecessors.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(prover) = prover else { return false };
        let held = self.held_by_predecessors(request).await;
        if held.is_empty() {
            return false;
        }
        let gone = prover.gone(&held, self.now()).await.unwrap_or_default();
        let mut has_freed = false;
        for held in gone {
            // What cannot be freed now is looked for again, as any leak is.
            let freed = self.reap(&held, End::Leak, "another pod has its name").await;
            if let Ok(true) = freed {
                prover.freed(&held);
                has_freed = true;
            }
        }
        has_freed
    }

    async fn held_by_predecessors(&self, request: &Request) -> Vec<Arc<Allocation>> {
        let Some(pod) = request.sandbox.pod.as_ref().filter(|pod| !pod.uid.is_empty()) else {
            return Vec::new();
        };
        let Some(book) = self.book(&request.network).await else { return Vec::new() };
        let is_predecessors = |held: &&Arc<Allocation>| {
            held.pod().is_some_and(|known| {
                known.name == pod.name
                    && known.namespace == pod.namespace
                    && !known.uid.is_empty()
                    && known.uid != pod.uid
            })
        };
        book.allocations().filter(is_predecessors).cloned().collect()
    }
}
