//! Queries: nothing here changes a book, except that cooldowns expire.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_conditions::Conditions;
use tenure_ledger::Book;
use tenure_types::{Allocation, Generation, Meter, NetworkName, Owner, PolicyStamp, Result};

use super::EngineCore;
use super::admission::Load;
use crate::ports::Details;

/// An allocation in a listing.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The allocation.
    pub allocation: Arc<Allocation>,
    /// Whether any of its addresses is outside the network's present ranges.
    pub outside: bool,
    /// Whether another allocation holds one of its addresses, so that this one waits for it.
    pub waiting: bool,
}

impl EngineCore {
    /// Lists at most `most` of a network's allocations made after the given one, in order. A large book is read in
    /// parts, so that no request waits for the whole listing.
    pub(crate) async fn list(&self, network: &NetworkName, after: Generation, most: usize) -> Vec<Listed> {
        let Some(slot) = self.networks.get(network) else { return Vec::new() };
        let state = slot.state();
        let Some(served) = state.as_ref() else { return Vec::new() };
        let book = &served.book;
        let listed = |allocation: &Arc<Allocation>| Listed {
            allocation: Arc::clone(allocation),
            outside: book.is_outside(allocation),
            waiting: book.is_waiting(allocation),
        };
        book.allocations_after(after).take(most).map(listed).collect()
    }

    /// A snapshot of a network's book. Later changes of the network do not show in it.
    pub(crate) async fn book(&self, network: &NetworkName) -> Option<Arc<Book>> {
        let slot = self.networks.get(network)?;
        // If somebody else has the turn, a policy may share the book; its caller has already expired the cooldowns.
        if let Some(served) = slot.try_lock().as_deref_mut().and_then(Option::as_mut) {
            self.expire(served, self.now());
        }
        slot.state().as_ref().map(|served| Arc::clone(&served.book))
    }

    /// Waits until everything that the books contain is durable.
    pub(crate) async fn settled(&self) -> Result<()> {
        self.ports.journal.barrier().durable().await
    }

    /// The names of the networks, in order.
    pub(crate) fn network_names(&self) -> Vec<NetworkName> {
        self.networks.names()
    }

    /// Returns a loaded policy's abilities, grants and use.
    pub(crate) fn policy_details(&self, policy: &PolicyStamp) -> Option<Details> {
        self.ports.catalogue.details(policy)
    }

    /// Why calls of a policy are refused on some networks, because it keeps failing there.
    pub(crate) fn benched(&self, policy: &PolicyStamp) -> Vec<String> {
        self.strikes.benched_versions(self.ports.clock.monotonic(), policy)
    }

    /// The meters of the policies that serve networks.
    pub(crate) fn meters(&self) -> Vec<(PolicyStamp, Meter)> {
        let mut meters = self.ports.catalogue.meters();
        let node = self.committer.node();
        let serving: BTreeSet<_> = node.choices.all().map(|(_, served)| &served.now.policy).collect();
        meters.retain(|(policy, _)| serving.contains(policy));
        meters
    }

    /// The current load.
    pub(crate) fn load(&self) -> Load {
        self.admission.load()
    }

    /// Returns an owner's allocation.
    pub(crate) fn allocation_of(&self, network: &NetworkName, owner: &Owner) -> Option<Arc<Allocation>> {
        let slot = self.networks.get(network)?;
        let state = slot.state();
        state.as_ref()?.book.owned_by(owner).cloned()
    }

    /// The list on which the daemon's parts set their conditions.
    pub(crate) fn conditions(&self) -> &Arc<Conditions> {
        &self.conditions
    }

    /// Fails while the state is lost: then the ledger is empty, or another's, and says nothing about who has which address. Nothing is
    /// answered from it, and nothing ends because of it.
    pub(crate) fn has_state(&self) -> Result<()> {
        self.conditions.loss().map_or(Ok(()), Err)
    }

    /// Refuses an ADD that the node's state does not allow: a cheap form of [`Engine::readiness`](crate::Engine::readiness).
    pub(crate) fn admits(&self) -> Result<()> {
        self.conditions.refusal().map_or_else(|| self.ports.journal.health(), Err)
    }
}
