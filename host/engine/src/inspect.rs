//! CHECK, STATUS and looking in: nothing here changes a book.

use std::sync::Arc;

use tenure_ledger::{Book, Usage};
use tenure_types::{Cooling, Error, ErrorCode, Grant, NetworkConfig, NetworkName, Owner, PolicyName, Result};

use crate::engine::Engine;

impl Engine {
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
        let unavailable = |cause: String| Error::new(ErrorCode::Unavailable, cause);
        self.readiness().map_err(|error| unavailable(format!("{}: {error}", error.code)))?;
        let Some(book) = self.book(name).await else {
            // Not used yet: what its first ADD would need is a policy that takes the configuration.
            let policy = self.ports.catalogue.load(policy)?;
            return self.defined(policy.as_ref(), name, config, false).map(drop);
        };
        let definition = &book.network().definition;
        let full = |usage: Usage| match definition.cooling {
            Cooling::Strict => usage.held.saturating_add(usage.cooling) >= usage.total,
            Cooling::Preferred => usage.held >= usage.total,
        };
        match (0..definition.pools.len()).find(|pool| full(book.usage(*pool))) {
            Some(pool) => {
                let total = book.usage(pool).total;
                Err(unavailable(format!(
                    "pool {pool} of network {name} is exhausted: {total} of {total} in use"
                )))
            }
            None => Ok(()),
        }
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
