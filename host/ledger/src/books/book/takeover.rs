//! A book's state about other IPAMs: addresses that an unknown owner may be using, and claims that have ended.
//!
//! A claim that cannot be assigned to an owner becomes an allocation of [`Owner::Unknown`], so that its address is
//! never free. If the address already has an owner, the claim waits, and holds the address once that owner releases
//! it.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use tenure_types::{
    Allocation, AssignedAddress, Attributes, Generation, Moment, Origin, Owner, PolicyStamp, Sandbox, Source,
};

use super::Book;
use crate::books::MOST_SETTLED;
use crate::books::shared_map::SharedMap;

/// The waiting claims of unknown owners, and the claims that have ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Takeover {
    /// Claims of addresses that another allocation holds, at most one per address.
    waiting: SharedMap<IpAddr, Generation>,
    /// For each address, the identifier of the claim that ended last.
    settled: SharedMap<IpAddr, Arc<str>>,
}

impl Takeover {
    pub(super) fn restore(&mut self, settled: Vec<(IpAddr, Arc<str>)>) {
        self.settled = settled.into_iter().collect();
    }

    pub(super) fn settled(&self) -> Vec<(IpAddr, Arc<str>)> {
        self.settled.iter().map(|(address, claim)| (*address, Arc::clone(claim))).collect()
    }

    pub(super) fn has_none_waiting(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn wait(&mut self, address: IpAddr, generation: Generation) {
        self.waiting.insert(address, generation);
    }

    /// Removes a waiting claim; returns whether it was waiting.
    pub(super) fn stop_waiting(&mut self, address: IpAddr, generation: Generation) -> bool {
        let waits = self.waiting.get(&address) == Some(&generation);
        if waits {
            self.waiting.remove(&address);
        }
        waits
    }

    /// Takes the claim that holds the address after its present owner.
    pub(super) fn next(&mut self, address: IpAddr) -> Option<Generation> {
        self.waiting.remove(&address)
    }

    /// Marks a claim as live: an allocation holds the address by exactly this claim.
    pub(super) fn unsettle(&mut self, address: IpAddr, claim: &str) {
        if self.settled.get(&address).is_some_and(|settled| **settled == *claim) {
            self.settled.remove(&address);
        }
    }

    pub(super) fn settle(&mut self, address: IpAddr, claim: &str) {
        if self.settled.len() >= MOST_SETTLED && !self.settled.contains_key(&address) {
            self.settled.pop_first();
        }
        self.settled.insert(address, claim.into());
    }
}

impl Book {
    /// Whether exactly this claim of an address was taken over earlier and has ended, so that it does not show who
    /// uses the address now.
    #[must_use]
    pub fn is_settled(&self, address: IpAddr, claim: &str) -> bool {
        self.takeover.settled.get(&address).is_some_and(|settled| **settled == *claim)
    }

    /// Whether exactly this claim of an address came over: it has ended, or an allocation that was imported with it has the address or waits for it.
    #[must_use]
    pub fn has_come_over(&self, address: IpAddr, claim: &str) -> bool {
        let has = |held: &&Arc<Allocation>| {
            let index = held.addresses.iter().position(|held| held.ip() == address);
            index.and_then(|index| held.origin.as_ref()?.claim(index)) == Some(claim)
        };
        !claim.is_empty()
            && (self.is_settled(address, claim)
                || [self.holder(address), self.waiting_for(address)].iter().flatten().any(has))
    }

    /// Whether an owner has an address; of one that another IPAM does not know, whether an unknown owner has it.
    #[must_use]
    pub fn has(&self, owner: Option<&Owner>, address: IpAddr) -> bool {
        let held = match owner {
            Some(owner) => self.owned_by(owner),
            None => self.owned_by(&Owner::Unknown { address }),
        };
        held.is_some_and(|held| held.addresses.iter().any(|held| held.ip() == address))
    }

    /// The claims that were taken over earlier and have ended, by address.
    #[must_use]
    pub(in crate::books) fn settled_claims(&self) -> Vec<(IpAddr, Arc<str>)> {
        self.takeover.settled()
    }

    /// Lets claims that ended in an earlier network of this name stay ended. What the book knows of an address comes first.
    pub(in crate::books) fn stay_settled(&mut self, claims: impl Iterator<Item = (IpAddr, Arc<str>)>) {
        for (address, claim) in claims {
            let is_news = self.holder(address).is_none() && !self.takeover.settled.contains_key(&address);
            if is_news {
                self.takeover.settle(address, &claim);
            }
        }
    }

    /// The unknown owner that holds the address once its present owner releases it.
    #[must_use]
    pub fn waiting_for(&self, address: IpAddr) -> Option<&Arc<Allocation>> {
        self.allocation(*self.takeover.waiting.get(&address)?)
    }

    /// Whether the allocation is a claim of an address that another allocation holds.
    #[must_use]
    pub fn is_waiting(&self, allocation: &Allocation) -> bool {
        let waits = |address: &AssignedAddress| {
            self.takeover.waiting.get(&address.ip()) == Some(&allocation.generation)
        };
        allocation.addresses.iter().any(waits)
    }

    /// Whether a claim may wait behind the present owner: only an unknown owner's, and only behind a known owner.
    pub(super) fn may_wait(&self, claim: &Allocation, holder: &Allocation) -> bool {
        match (&claim.owner, &holder.owner) {
            (Owner::Unknown { address }, Owner::Attachment { .. } | Owner::Claim { .. }) => {
                self.waiting_for(*address).is_none()
            }
            _ => false,
        }
    }

    /// Makes an allocation for an address that an unknown owner may be using, inside or outside the ranges; `None` if
    /// the book has one already.
    #[must_use]
    pub fn hold(
        &self,
        address: IpAddr,
        origin: Origin,
        policy: &Arc<PolicyStamp>,
        now: Moment,
    ) -> Option<Allocation> {
        let owner = Owner::Unknown { address };
        if self.owned_by(&owner).is_some() {
            return None;
        }
        let whole = IpNet::from(address);
        let (prefix, source) = match self.stock().locate(address) {
            // Who is unknown has one address, and not the prefix that a range would assign around it.
            Some((_, range, source, _)) if !range.assigns_prefixes() => {
                (range.prefix_length(), Arc::clone(source))
            }
            _ => (whole.prefix_len(), Arc::new(Source::default())),
        };
        // The range has checked its prefix length.
        let address = IpNet::new(address, prefix).unwrap_or(whole);
        Some(Allocation {
            network: self.name().clone(),
            generation: self.next_generation(),
            owner,
            addresses: [AssignedAddress { address, source, attributes: Attributes::default() }].into(),
            sandbox: Sandbox::default(),
            tags: Attributes::default(),
            policy: Arc::clone(policy),
            origin: Some(Box::new(origin)),
            requested_at: now,
            allocated_at: now,
        })
    }
}

#[cfg(test)]
mod tests;
