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
        let slot = slot.lock().await;
        let Some(served) = slot.as_ref() else { return Vec::new() };
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
                Some(slot) => {
                    slot.lock().await.as_ref().and_then(|served| served.book.owned_by(owner).cloned())
                }
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
        let book = self.book(name).await;
        if let Some(slot) = self.networks.get(name) {
            import::admits(slot.lock().await.as_ref()).map_err(named)?;
        }
        // What an ADD would be served by, and what it would make of the configuration.
        let activated = book.as_ref().map(|book| book.network()).filter(|network| network.activated);
        let loaded = match activated {
            Some(network) => self.ports.catalogue.load_pinned(&network.policy),
            None => self.ports.catalogue.load(policy),
        };
        let policy = loaded.map_err(|error| match error.code {
            ErrorCode::PolicyUnloadable | ErrorCode::NotReady => named(error),
            _ => error,
        })?;
        let up_to_date = |book: &&Arc<Book>| {
            let network = book.network();
            network.policy == *policy.stamp() && network.config == *config
        };
        let Some(book) = book.as_ref().filter(up_to_date) else {
            return self.defined(policy.as_ref(), name, config, activated.is_some()).map(drop);
        };
        let exhausted = (0..book.network().definition.pools.len()).find_map(|pool| exhaustion(book, pool));
        exhausted.map_or(Ok(()), |message| Err(unavailable(message)))
    }

    /// A network's book as of now. What it shows stays as it was; the network goes on without it.
    pub async fn book(&self, network: &NetworkName) -> Option<Arc<Book>> {
        let slot = self.networks.get(network)?;
        let mut slot = slot.lock().await;
        let served = slot.as_mut()?;
        self.expire(served, self.now());
        Some(Arc::clone(&served.book))
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
