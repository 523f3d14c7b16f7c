//! Networks that a CNI configuration names before any request does.

use std::sync::Arc;

use tenure_types::{NetworkConfig, NetworkName, PolicyName, Result};

use super::define::CallerConfig;
use crate::engine::Engine;

/// A network as a CNI configuration asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreseen {
    /// The network.
    pub network: NetworkName,
    /// The policy that the configuration names.
    pub policy: PolicyName,
    /// The configuration, as it is passed to the policy.
    pub config: Arc<NetworkConfig>,
}

impl Engine {
    /// Brings a network in line with a CNI configuration, by the same rules as an ADD with it, but without a request for an
    /// address yet; durable when this returns. Returns whether anything changed.
    ///
    /// # Errors
    /// As an ADD, except for those of its request.
    pub async fn foresee(&self, foreseen: &Foreseen) -> Result<bool> {
        self.core.observed("define", &foreseen.network, None, self.serve_foreseen(foreseen)).await
    }

    async fn serve_foreseen(&self, foreseen: &Foreseen) -> Result<bool> {
        let Foreseen { network, policy, config } = foreseen;
        let slot = self.core.networks.get_or_create(network)?;
        let alone = slot.alone().await;
        self.core.admits()?;
        self.imports.admits_beside_moves(alone.state().as_ref())?;
        let caller = CallerConfig { network, policy, config };
        self.admits_beside_others(caller).await?;
        let defined = || alone.state().as_ref().map(|served| Arc::clone(served.book.network()));
        let before = defined();
        self.define(&alone, caller, self.core.now()).await?;
        let changed = defined() != before;
        drop(alone);
        // It may have been changed by a request that is not durable yet.
        self.core.ports.journal.barrier().durable().await?;
        Ok(changed)
    }
}
