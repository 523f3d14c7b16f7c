//! Activating a policy on a network while it serves.

use std::sync::Arc;

use tenure_types::{Error, ErrorCode, NetworkName, PolicyName, PolicyStamp, Result};

use crate::engine::Engine;

impl Engine {
    /// Puts a policy in the place of a network's present one; durable when this returns. Says what served before and now.
    ///
    /// Requests under way finish on the old one. A policy that does not load, or that cannot make anything of the
    /// network's configuration, changes nothing.
    ///
    /// # Errors
    /// `UnknownNetwork`, `UnknownPolicy`, `PolicyUnloadable`, and what the policy says of the configuration.
    pub async fn activate(
        &self,
        network: &NetworkName,
        policy: &PolicyName,
    ) -> Result<(PolicyStamp, PolicyStamp)> {
        self.observed("activate", network, None, self.serve_activate(network, policy)).await
    }

    async fn serve_activate(
        &self,
        name: &NetworkName,
        policy: &PolicyName,
    ) -> Result<(PolicyStamp, PolicyStamp)> {
        let unknown =
            || Error::new(ErrorCode::UnknownNetwork, format_args!("no network {name} on this node"));
        let slot = self.networks.get(name).ok_or_else(unknown)?;
        // Loading may compile; the network goes on serving meanwhile.
        let policy = self.ports.catalogue.load(policy).await?;
        let alone = slot.alone().await;
        let before = Arc::clone(alone.state().as_ref().ok_or_else(unknown)?.book.network());
        let network = self.defined(policy.as_ref(), name, &before.config, true).await?;
        let after = network.policy.clone();
        let ticket = {
            let mut state = alone.hold();
            let ticket = self.redefine(&mut state, network)?;
            if let Some(served) = state.as_mut() {
                served.policy = Some(policy);
            }
            ticket
        };
        ticket.durable().await?;
        Ok((before.policy.clone(), after))
    }
}
