//! What a book knows of other IPAMs: addresses that somebody unknown may use, and claims that are over.
//!
//! A claim that cannot be given to an owner is an allocation of [`Owner::Unknown`], so that its address is never free. Where the
//! address has an owner already, the claim waits behind it, and has the address when that owner gives it back.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use tenure_types::{
    Allocation, AssignedAddress, Attributes, Generation, Moment, Origin, Owner, PolicyStamp, Source,
};

use super::Book;

/// The most claims that are remembered after their end. One that is forgotten is taken over again by an import that still finds
/// it, which keeps an address for nobody and gives none away.
const MOST_SETTLED: usize = 1 << 17;

/// The claims of unknown owners that wait, and those that have ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Takeover {
    /// Claims to addresses that another allocation has, at most one for each.
    waiting: HashMap<IpAddr, Generation>,
    /// For each address, what told the claim apart that ended last.
    settled: BTreeMap<IpAddr, Arc<str>>,
}

impl Takeover {
    pub(super) fn restore(&mut self, settled: Vec<(IpAddr, Arc<str>)>) {
        self.settled = settled.into_iter().collect();
    }

    pub(super) fn settled(&self) -> Vec<(IpAddr, Arc<str>)> {
        self.settled.iter().map(|(address, claim)| (*address, Arc::clone(claim))).collect()
    }

    pub(super) fn wait(&mut self, address: IpAddr, generation: Generation) {
        self.waiting.insert(address, generation);
    }

    /// Takes a claim back that still waits; says whether it did.
    pub(super) fn stop_waiting(&mut self, address: IpAddr, generation: Generation) -> bool {
        let waits = self.waiting.get(&address) == Some(&generation);
        if waits {
            self.waiting.remove(&address);
        }
        waits
    }

    /// Who has the address after its present owner.
    pub(super) fn next(&mut self, address: IpAddr) -> Option<Generation> {
        self.waiting.remove(&address)
    }

    /// Somebody has the address by this very claim, so it is not over.
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
    /// Whether this very claim of an address was taken over once and has ended, so that it says nothing of who lives now.
    #[must_use]
    pub fn is_settled(&self, address: IpAddr, claim: &str) -> bool {
        self.takeover.settled.get(&address).is_some_and(|settled| **settled == *claim)
    }

    /// The unknown owner that has the address once its present one gives it back.
    #[must_use]
    pub fn waiting_for(&self, address: IpAddr) -> Option<&Arc<Allocation>> {
        self.allocation(*self.takeover.waiting.get(&address)?)
    }

    /// Whether somebody else has the address that an unknown owner claims.
    #[must_use]
    pub fn is_waiting(&self, allocation: &Allocation) -> bool {
        let waits = |address: &AssignedAddress| {
            self.takeover.waiting.get(&address.ip()) == Some(&allocation.generation)
        };
        allocation.addresses.iter().any(waits)
    }

    /// Whether a claim may stand behind the present owner: an unknown owner's, behind anybody who is known.
    pub(super) fn may_wait(&self, claim: &Allocation, holder: &Allocation) -> bool {
        match (&claim.owner, &holder.owner) {
            (Owner::Unknown { address }, Owner::Attachment { .. } | Owner::Claim { .. }) => {
                self.waiting_for(*address).is_none()
            }
            _ => false,
        }
    }

    /// Makes an allocation of an address that somebody unknown may use, wherever the address lies; `None` when the book has one.
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
            Some((_, range, source, _)) => (range.prefix_length(), Arc::clone(source)),
            None => (whole.prefix_len(), Arc::new(Source::default())),
        };
        // The range has checked its prefix length.
        let address = IpNet::new(address, prefix).unwrap_or(whole);
        Some(Allocation {
            network: self.name().clone(),
            generation: self.next_generation(),
            owner,
            addresses: [AssignedAddress { address, source, attributes: Attributes::default() }].into(),
            sandbox: None,
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
