//! The rest of the path of an ADD on a network with a delegate.

use std::sync::Arc;

use tenure_ledger::delegations::Given;
use tenure_ledger::{DelegationFact, Fact, LedgerFact};
use tenure_types::{
    Allocation, AssignedAddress, ConditionName, DelegateName, Error, ErrorCode, Grant, Request, Result,
};

use super::given::accept;
use super::{Obtained, Wanting};
use crate::admission::Turn;
use crate::engine::Engine;
use crate::networks::Entered;
use crate::pipeline::no_book;
use crate::ports::{Policy, Ticket};
use crate::slot::Alone;
use crate::undo::Undo;

impl Engine {
    /// Serves an ADD from a network's delegate. The caller has admitted the request and brought the network in line with its
    /// configuration.
    pub(crate) async fn add_delegated(
        &self,
        mut turn: Turn,
        (slot, alone): (&Entered<'_>, Alone<'_>),
        (policy, delegate): (&dyn Policy, DelegateName),
        request: Request,
        fits: impl Fn(&[AssignedAddress]) -> Result<()>,
    ) -> Result<Grant> {
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
        let obtained = self.obtain(slot, wanting).await?;
        let alone = slot.alone().await;
        turn.place().await?;
        let recorded = self.record(alone, &request, &obtained, policy, |allocation| {
            fits(&allocation.addresses)?;
            Ok(Vec::new())
        });
        let (allocation, ticket) = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                // The ledger does not have it, so the delegate must not, either.
                turn.leave_place();
                self.settle_quietly(&request.network, &request.owner).await;
                return Err(error);
            }
        };
        drop(obtained);
        let (slot, generation) = (Arc::clone(&slot.slot), allocation.generation);
        let undo = Undo::new(&self.undo, slot, request.owner, generation, turn, None);
        ticket.durable().await?;
        let granted = self.connected(&allocation).await?;
        undo.disarm();
        Ok(granted)
    }

    /// Checks what a delegate gave, and stages it as an allocation. `also` looks at the allocation, and makes the facts that
    /// belong to it.
    pub(super) fn record(
        &self,
        alone: Alone<'_>,
        request: &Request,
        obtained: &Obtained,
        policy: &dyn Policy,
        also: impl FnOnce(&Allocation) -> Result<Vec<Fact>>,
    ) -> Result<(Allocation, Ticket)> {
        let _defining = self.defining();
        let mut state = alone.hold();
        let served = state.as_mut().ok_or_else(no_book)?;
        let (allocation, facts) = self.accepted(&served.book, request, obtained, policy)?;
        let also = also(&allocation)?;
        let facts: Vec<Fact> = facts.into_iter().chain(also).collect();
        let (_, ticket) = self.committer.commit(&mut served.book, &facts)?;
        Ok((allocation, ticket))
    }

    /// The allocation that a delegate's answer becomes, and its facts: the ranges, the allocation, and that the delegate gave
    /// it.
    ///
    /// # Errors
    /// `DelegateRejected` if the ledger refuses it; the condition says so until the next answer is accepted.
    pub(super) fn accepted(
        &self,
        book: &tenure_ledger::Book,
        request: &Request,
        obtained: &Obtained,
        policy: &dyn Policy,
    ) -> Result<(Allocation, Vec<Fact>)> {
        let (name, now) = (book.name(), self.now());
        let Obtained { delegate, given, .. } = obtained;
        let refused = |why: &dyn std::fmt::Display| {
            let cause = format!("the answer of delegate {delegate} for network {name} was refused: {why}");
            tracing::warn!(network = %name, %delegate, owner = %request.owner, cause, "refused what a delegate gave");
            self.conditions.set(ConditionName::DelegateRejected, name.as_str(), &cause);
            Error::new(ErrorCode::DelegateRejected, cause)
        };
        let accepted = accept(book, request, given, delegate.as_str(), policy.stamp(), now);
        let accepted = accepted.map_err(|why| refused(&why))?;
        let added = || {
            accepted.ranges.iter().filter_map(|fact| match fact {
                Fact::Ledger(LedgerFact::RangeAdded { range, .. }) => Some(range.as_ref()),
                _ => None,
            })
        };
        self.check_exclusive(name, added()).map_err(|error| refused(&error))?;
        let bounds = self.bounds();
        for range in added() {
            let within = bounds.check_range(name, &policy.stamp().name, range);
            within.map_err(|error| refused(&error))?;
        }
        self.conditions.clear(ConditionName::DelegateRejected, name.as_str());
        let allocation = accepted.allocation;
        let given = Given {
            generation: allocation.generation,
            addresses: allocation.addresses.iter().map(AssignedAddress::ip).collect(),
        };
        let (network, owner) = (name.clone(), request.owner.clone());
        let mut facts = accepted.ranges;
        facts.push(LedgerFact::Allocated(Arc::new(allocation.clone())).into());
        facts.push(DelegationFact::Given { network, owner, given, at: now }.into());
        Ok((allocation, facts))
    }
}
