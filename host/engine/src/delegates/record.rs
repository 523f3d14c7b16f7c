//! Recording what a delegate gave: checked, and staged as an allocation.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_ledger::delegations::Given;
use tenure_ledger::{DelegationFact, Fact, LedgerFact, Violation};
use tenure_types::{Allocation, AssignedAddress, ConditionName, Error, ErrorCode, Request, Result};

use super::DelegateClient;
use super::given::accept;
use super::obtain::Obtained;
use crate::network::slot::Alone;
use crate::ports::{Policy, Ticket};

impl DelegateClient {
    /// Checks what a delegate gave, and stages it as an allocation. `also` looks at the allocation, and makes the facts that
    /// belong to it.
    pub(crate) fn record(
        &self,
        alone: Alone<'_>,
        request: &Request,
        obtained: &Obtained,
        policy: &dyn Policy,
        also: impl FnOnce(&Allocation) -> Result<Vec<Fact>>,
    ) -> Result<(Allocation, Ticket)> {
        let _defining = self.core.defining();
        let mut state = alone.hold();
        let removed = || {
            let name = &request.network;
            Error::new(
                ErrorCode::NotReady,
                format_args!("network {name} was removed while its delegate was asked"),
            )
        };
        let served = state.as_mut().ok_or_else(removed)?;
        let (allocation, facts) = self.accepted(&served.book, request, obtained, policy)?;
        let also = also(&allocation)?;
        let facts: Vec<Fact> = facts.into_iter().chain(also).collect();
        let (_, ticket) = self.core.committer.commit(&mut served.book, &facts)?;
        Ok((allocation, ticket))
    }

    /// The allocation that a delegate's answer becomes, and its facts: the ranges, the allocation, and that the delegate gave
    /// it.
    ///
    /// # Errors
    /// `DelegateRejected` if the ledger refuses it; the condition says so until the next answer is accepted.
    pub(crate) fn accepted(
        &self,
        book: &tenure_ledger::Book,
        request: &Request,
        obtained: &Obtained,
        policy: &dyn Policy,
    ) -> Result<(Allocation, Vec<Fact>)> {
        let (name, now) = (book.name(), self.core.now());
        let Obtained { delegate, given, .. } = obtained;
        let refused = |why: &dyn std::fmt::Display| {
            let cause = format!("the answer of delegate {delegate} for network {name} was refused: {why}");
            tracing::warn!(network = %name, %delegate, owner = %request.owner, cause, "refused what a delegate gave");
            self.core.conditions.set(ConditionName::DelegateRejected, name.as_str(), &cause);
            Error::new(ErrorCode::DelegateRejected, cause)
        };
        // The delegate knows nothing of a quarantine; its answer is tried on a book that has none.
        let mut addresses = given.addresses.iter().map(AssignedAddress::ip);
        let is_marked = |address: &IpAddr| {
            let from_before = || self.core.committer.quarantine_from_before(*address);
            book.quarantine_of(*address).is_some() || from_before().is_some()
        };
        if let Some(marked) = addresses.find(is_marked) {
            return Err(refused(&Violation::Quarantined(marked)));
        }
        let accepted = accept(book, request, given, delegate.as_str(), policy.stamp(), now);
        let accepted = accepted.map_err(|why| refused(&why))?;
        let added = || {
            accepted.ranges.iter().filter_map(|fact| match fact {
                Fact::Ledger(LedgerFact::RangeAdded { range, .. }) => Some(range.as_ref()),
                _ => None,
            })
        };
        self.core.check_exclusive(name, added()).map_err(|error| refused(&error))?;
        let bounds = self.core.bounds();
        for range in added() {
            let within = bounds.check_range(name, &policy.stamp().name, range);
            within.map_err(|error| refused(&error))?;
        }
        self.core.conditions.clear(ConditionName::DelegateRejected, name.as_str());
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
