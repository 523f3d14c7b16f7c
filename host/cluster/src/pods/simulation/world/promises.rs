//! The promises, compared with what is.

use std::collections::HashSet;
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{Allocation, AssignedAddress, Owner};

use super::super::pod::{PodSandbox, network};
use super::super::server::ApiState;
use super::PodWorld;

/// For how long after an ADD a sandbox that is not listed yet keeps its address, in seconds: the grace period, less what the steps of a history may take.
const UNLISTED: u64 = 50;

impl PodWorld {
    /// Whether each sandbox has its address, and nobody was asked in vain.
    pub(super) async fn check(&self) -> Result<(), String> {
        if let Some(name) = &self.server.state().asked_in_vain {
            return Err(format!("the API server was asked about pod {name}, which its watch shows"));
        }
        let Some(book) = self.agent.engine.book(&network()).await else { return Ok(()) };
        for sandbox in self.sandboxes.values() {
            let is_kept = sandbox.listed.is_some() || sandbox.added.elapsed().as_secs() < UNLISTED;
            let held = book.owned_by(&sandbox.owner());
            let has =
                |held: &Allocation| held.addresses.iter().map(AssignedAddress::ip).next() == sandbox.address;
            if is_kept && !held.is_some_and(|held| has(held)) {
                let PodSandbox { id, pod, address, .. } = sandbox;
                return Err(format!("{id} of pod {} {} lost {address:?}", pod.name, pod.uid));
            }
        }
        Ok(())
    }

    /// Allocations that are held although their sandbox is provably gone, or are in quarantine although it lives.
    pub(super) async fn unsettled(&self) -> Vec<String> {
        let Some(book) = self.agent.engine.book(&network()).await else { return Vec::new() };
        let state = self.server.state();
        let held = book.allocations().filter(|held| self.sandbox_of(&held.owner).is_none());
        let held = held.filter(|held| self.is_replaced(held) || is_provable(held, &state));
        let held = held.map(|held| format!("{} of {:?} is held by none", held.owner, held.pod()));
        let living = doubted(&book)
            .filter(|held| self.sandbox_of(&held.owner).is_some_and(|sandbox| !sandbox.is_orphan(&state)));
        held.chain(living.map(|held| format!("{} lives in quarantine", held.owner))).collect()
    }

    /// Sandboxes of pods that the API server alone lacks, and which are not in quarantine.
    pub(super) async fn undoubted(&self) -> Vec<String> {
        let Some(book) = self.agent.engine.book(&network()).await else { return Vec::new() };
        let state = self.server.state();
        let orphans = self.sandboxes.values().filter(|sandbox| sandbox.is_orphan(&state));
        let undoubted = orphans.filter(|orphan| doubted(&book).all(|held| held.owner != orphan.owner()));
        undoubted
            .map(|orphan| format!("{} of pod {} is not in quarantine", orphan.id, orphan.pod.name))
            .collect()
    }

    /// Whether the kubelet has made another sandbox of the same pod.
    fn is_replaced(&self, held: &Allocation) -> bool {
        let is_same = |sandbox: &PodSandbox| !sandbox.pod.uid.is_empty() && held.pod() == Some(&sandbox.pod);
        self.sandboxes.values().any(is_same)
    }

    fn sandbox_of(&self, owner: &Owner) -> Option<&PodSandbox> {
        self.sandboxes.values().find(|sandbox| sandbox.owner() == *owner)
    }
}

/// Whether the witnesses together can say that an allocation's sandbox is gone, once it is: a file on the node may run a pod without an object in the
/// API server, and a name alone proves no end.
fn is_provable(held: &Allocation, state: &ApiState) -> bool {
    let Some(pod) = held.pod() else { return false };
    let by_pod = pod.uid.len() != 32 && !pod.uid.is_empty() && !state.has(&pod.name, &pod.uid);
    by_pod || held.netns_seen().is_some()
}

fn doubted(book: &Book) -> impl Iterator<Item = &Arc<Allocation>> {
    let marked: HashSet<_> = book.doubts().collect();
    book.allocations().filter(move |held| marked.contains(&held.generation))
}
