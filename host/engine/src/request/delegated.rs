//! The rest of the path of an ADD on a network with a delegate.

use std::sync::Arc;

use tenure_types::{AssignedAddress, DelegateName, Grant, Request, Result};

use crate::core::admission::Turn;
use crate::core::undo::Undo;
use crate::delegates::obtain::Wanting;
use crate::engine::Engine;
use crate::network::networks::Entered;
use crate::network::slot::{Alone, no_book};
use crate::ports::Policy;

/// An admitted ADD on a network that a delegate serves.
pub(crate) struct DelegatedAdd<'a> {
    /// The turn of the attachment.
    pub(crate) turn: Turn,
    pub(crate) slot: &'a Entered<'a>,
    /// The turn of the network.
    pub(crate) alone: Alone<'a>,
    /// The policy that stands for the delegate.
    pub(crate) policy: &'a dyn Policy,
    pub(crate) delegate: DelegateName,
    pub(crate) request: Request,
}

impl Engine {
    /// Serves an ADD from a network's delegate. The caller has admitted the request and brought the network in line with its
    /// configuration.
    pub(crate) async fn add_delegated(
        &self,
        add: DelegatedAdd<'_>,
        fits: impl Fn(&[AssignedAddress]) -> Result<()>,
    ) -> Result<Grant> {
        let DelegatedAdd { mut turn, slot, alone, policy, delegate, request } = add;
        let ipam = alone.state().as_ref().map(|served| served.book.network().config.ipam.as_str().into());
        let wanting = Wanting {
            network: request.network.clone(),
            owner: request.owner.clone(),
            delegate,
            ipam: ipam.ok_or_else(no_book)?,
            netns: request.sandbox.netns.clone(),
            pod: request.sandbox.pod.clone(),
            requested: request.requested.clone(),
        };
        // Others are served while the delegate runs; requests for the same key wait.
        drop(alone);
        turn.leave_place();
        let obtained = self.delegates.obtain(slot, wanting).await?;
        let alone = slot.alone().await;
        turn.place().await?;
        let recorded = self.delegates.record(alone, &request, &obtained, policy, |allocation| {
            fits(&allocation.addresses)?;
            Ok(Vec::new())
        });
        let (allocation, ticket) = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                // The ledger does not have it, so the delegate must not, either.
                turn.leave_place();
                self.delegates.settle_quietly(&request.network, &request.owner).await;
                return Err(error);
            }
        };
        drop(obtained);
        let (slot, generation) = (Arc::clone(&slot.slot), allocation.generation);
        let undo = Undo::new(&self.core.undo, slot, request.owner, generation, turn, None);
        ticket.durable().await?;
        let granted = self.links.connected(&allocation).await?;
        undo.disarm();
        Ok(granted)
    }
}
