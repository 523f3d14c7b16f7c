//! Activating a policy on a live network.

use std::sync::Arc;

use tenure_ledger::Chooser;
use tenure_types::{Error, ErrorCode, NetworkName, PolicyName, Result};

use crate::engine::Engine;
use crate::redefine::{Redefined, Wanted};

impl Engine {
    /// Replaces a network's policy; durable when this returns. Returns the policies before and after.
    ///
    /// Requests in progress finish on the old policy. Nothing changes when the new policy does not load, rejects the
    /// network's configuration, or would change the ranges without `change_ranges`.
    ///
    /// # Errors
    /// `UnknownNetwork`, `UnknownPolicy`, `PolicyUnloadable`, `OutOfBounds`, `RangesWouldChange`, and the policy's
    /// own errors about the configuration.
    pub async fn activate(
        &self,
        network: &NetworkName,
        policy: &PolicyName,
        change_ranges: bool,
    ) -> Result<Redefined> {
        self.observed("activate", network, None, self.serve_activate(network, policy, change_ranges)).await
    }

    async fn serve_activate(
        &self,
        name: &NetworkName,
        policy: &PolicyName,
        change_ranges: bool,
    ) -> Result<Redefined> {
        let unknown =
            || Error::new(ErrorCode::UnknownNetwork, format_args!("no network {name} on this node"));
        let slot = self.networks.known(name).ok_or_else(unknown)?;
        // Loading may compile, so it happens before the network's turn: the network keeps serving meanwhile.
        let policy = self.ports.catalogue.load(policy).await?;
        let alone = slot.alone().await;
        let before = Arc::clone(alone.state().as_ref().ok_or_else(unknown)?.book.network());
        let (config, definer) = (Arc::clone(&before.config), before.defined_by);
        let wanted = Wanted { policy, by: Chooser::Operator, config, definer };
        let definition = self.defined(name, &wanted).await?;
        let (redefined, ticket) = {
            let defining = self.defining();
            let mut state = alone.hold();
            let redefined = self.compare(state.as_ref(), name, &wanted, &definition)?;
            self.check_change(name, &redefined, true, change_ranges)?;
            let ticket = self.redefine(&defining, &mut state, name, &wanted, &definition)?;
            if let Some(served) = state.as_mut() {
                served.policy = Some(wanted.policy);
            }
            (redefined, ticket)
        };
        ticket.durable().await?;
        Ok(redefined)
    }
}
