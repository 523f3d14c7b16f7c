//! CHECK and queries: nothing here changes a book, except that cooldowns expire.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{
    Allocation, Error, ErrorCode, Generation, Grant, Meter, Moment, NetworkName, Owner, PolicyStamp, Result,
};

use crate::admission::Load;
use crate::engine::Engine;
use crate::ports::{CatalogueEntry, Details};

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

impl Engine {
    /// Lists at most `most` of a network's allocations made after the given one, in order. A large book is read in
    /// parts, so that no request waits for the whole listing.
    pub async fn list(&self, network: &NetworkName, after: Generation, most: usize) -> Vec<Listed> {
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

    /// Returns an owner's addresses, after looking at its link if the host makes it.
    ///
    /// # Errors
    /// `NotReady` while the state is lost, `UnknownAttachment` when the owner has none, `LinkDiffers` when the kernel does not show its link as it shall be.
    pub async fn check(&self, network: &NetworkName, owner: &Owner) -> Result<Grant> {
        self.observed("check", network, Some(owner), async {
            let held = self.allocation_of(network, owner).ok_or_else(|| {
                Error::new(
                    ErrorCode::UnknownAttachment,
                    format_args!("{owner} owns no address of network {network}"),
                )
            })?;
            // An older state may say that the owner has what another has by now.
            self.has_state()?;
            self.check_at_delegate(network, owner, &held.addresses).await?;
            if held.link().is_some() {
                self.ports.links.check(&held).await?;
            }
            Ok(self.grant(&held))
        })
        .await
    }

    /// A snapshot of a network's book. Later changes of the network do not show in it.
    pub async fn book(&self, network: &NetworkName) -> Option<Arc<Book>> {
        let slot = self.networks.get(network)?;
        // If somebody else has the turn, a policy may share the book; its caller has already expired the cooldowns.
        if let Some(served) = slot.try_lock().as_deref_mut().and_then(Option::as_mut) {
            self.expire(served, self.now());
        }
        slot.state().as_ref().map(|served| Arc::clone(&served.book))
    }

    /// Waits until everything that the books contain is durable.
    ///
    /// # Errors
    /// `CheckpointFailed`.
    pub async fn settled(&self) -> Result<()> {
        self.ports.journal.barrier().durable().await
    }

    /// The names of the networks, in order.
    #[must_use]
    pub fn network_names(&self) -> Vec<NetworkName> {
        self.networks.names()
    }

    /// The catalogue's policies and their state.
    #[must_use]
    pub fn policies(&self) -> Vec<CatalogueEntry> {
        let mut policies = self.ports.catalogue.list();
        self.add_verdicts(&mut policies);
        policies
    }

    /// Returns a loaded policy's abilities, grants and use.
    #[must_use]
    pub fn policy_details(&self, policy: &PolicyStamp) -> Option<Details> {
        self.ports.catalogue.details(policy)
    }

    /// Why calls of a policy are refused on some networks, because it keeps failing there.
    #[must_use]
    pub fn benched(&self, policy: &PolicyStamp) -> Vec<String> {
        self.strikes.benched_versions(self.ports.clock.monotonic(), policy)
    }

    /// The meters of the policies that serve networks.
    #[must_use]
    pub fn meters(&self) -> Vec<(PolicyStamp, Meter)> {
        let mut meters = self.ports.catalogue.meters();
        let node = self.committer.node();
        let serving: BTreeSet<_> = node.choices.all().map(|(_, served)| &served.now.policy).collect();
        meters.retain(|(policy, _)| serving.contains(policy));
        meters
    }

    /// The current load.
    #[must_use]
    pub fn load(&self) -> Load {
        self.admission.load()
    }

    /// The current time, by the clock that orders requests.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.ports.clock.now()
    }
}
