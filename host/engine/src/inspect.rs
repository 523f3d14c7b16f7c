//! CHECK, STATUS and looking in: nothing here changes a book.

use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{
    Allocation, Error, ErrorCode, Generation, Grant, NetworkConfig, NetworkName, Owner, PolicyName, Result,
};

use crate::engine::Engine;
use crate::import;
use crate::wrong::{exhaustion, unavailable};

/// An allocation as it is listed.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The allocation.
    pub allocation: Arc<Allocation>,
    /// Whether some address of it lies outside the network's present ranges.
    pub outside: bool,
    /// Whether another allocation has its address.
    pub waiting: bool,
}

impl Engine {
    /// A network's allocations after one of them, in the order in which they were made, and no more than so many: a large book is
    /// looked at in parts, so that nobody waits for it.
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

    /// An owner's addresses, if it has any.
    ///
    /// # Errors
    /// `UnknownAttachment` when it has none.
    pub async fn check(&self, network: &NetworkName, owner: &Owner) -> Result<Grant> {
        self.observed("check", network, Some(owner), async {
            let held = match self.networks.get(network) {
                Some(slot) => slot.state().as_ref().and_then(|served| served.book.owned_by(owner).cloned()),
                None => None,
            };
            let held = held.ok_or_else(|| {
                Error::new(
                    ErrorCode::UnknownAttachment,
                    format_args!("{owner} owns no address of network {network}"),
                )
            })?;
            Ok(Grant { generation: held.generation, addresses: held.addresses.clone() })
        })
        .await
    }

    /// Whether an ADD with this configuration would find what it needs.
    ///
    /// # Errors
    /// `Unavailable` when it would not; `InvalidConfig` and the policy's own errors for a configuration that is wrong.
    pub async fn status(
        &self,
        network: &NetworkName,
        policy: &PolicyName,
        config: &NetworkConfig,
    ) -> Result<()> {
        self.observed("status", network, None, self.serve_status(network, policy, config)).await
    }

    async fn serve_status(
        &self,
        name: &NetworkName,
        policy: &PolicyName,
        config: &NetworkConfig,
    ) -> Result<()> {
        let named = |error: Error| unavailable(format_args!("{}: {error}", error.code));
        self.readiness().map_err(named)?;
        if let Some(slot) = self.networks.get(name) {
            import::admits(slot.state().as_ref()).map_err(named)?;
        }
        // What an ADD would be served by, and what it would make of the configuration.
        let (policy, activated, exhausted) = {
            let book = self.book(name).await;
            let network = book.as_ref().map(|book| book.network());
            let activated = network.filter(|network| network.activated);
            let found = match activated {
                Some(network) => self.ports.catalogue.find_pinned(&network.policy),
                None => self.ports.catalogue.find(policy),
            };
            let policy = found.map_err(|error| match error.code {
                ErrorCode::PolicyUnloadable | ErrorCode::NotReady => named(error),
                _ => error,
            })?;
            let up_to_date =
                network.is_some_and(|network| network.policy == *policy.stamp() && network.config == *config);
            let exhausted = book.as_ref().filter(|_| up_to_date).map(|book| {
                (0..book.network().definition.pools.len()).find_map(|pool| exhaustion(book, pool))
            });
            (policy, activated.is_some(), exhausted)
        };
        match exhausted {
            None => self.defined(policy.as_ref(), name, config, activated).await.map(drop),
            Some(exhausted) => exhausted.map_or(Ok(()), |message| Err(unavailable(message))),
        }
    }

    /// A network's book as of now. What it shows stays as it was; the network goes on without it.
    pub async fn book(&self, network: &NetworkName) -> Option<Arc<Book>> {
        let slot = self.networks.get(network)?;
        // Where somebody else has the turn, a policy may have a share of the book, and whoever asked it has let go what had cooled.
        if let Some(served) = slot.try_lock().as_deref_mut().and_then(Option::as_mut) {
            self.expire(served, self.now());
        }
        slot.state().as_ref().map(|served| Arc::clone(&served.book))
    }

    /// The names of the networks, in order.
    #[must_use]
    pub fn network_names(&self) -> Vec<NetworkName> {
        crate::ports::Images::networks(self.networks.as_ref())
    }

    /// What is known of each policy, and of the clock that moments are read by.
    #[must_use]
    pub fn ports(&self) -> &crate::Ports {
        &self.ports
    }

    /// How long freed addresses cool.
    #[must_use]
    pub fn settings(&self) -> crate::Settings {
        self.settings
    }
}
