//! Quarantine: addresses that must not be handed out, and allocations whose owner may be gone.
//!
//! ```text
//!               quarantine (operator, lease conflict)              lift, then it cools down
//!   free, cooling, held ─────────────────────────▶ address marked ──────────────────────────▶ cooling ──▶ free
//!
//!               quarantine (one witness alone)                      lift: a witness speaks for the owner, or an operator
//!   held ────────────────────────────────────────▶ allocation marked ──────────────────────▶ held
//!                                                          │
//!                                                          └─ release by proof, DEL, GC, operator ──▶ cooling
//! ```
//!
//! An address that is marked has no owner of its own: no policy can hand it out, and it counts as in use. If it has an
//! owner, that one keeps it, and it is withheld from allocation afterwards. An allocation that is marked keeps its owner, and DEL, CHECK and GC
//! treat it as before; it is only shown and counted.
//!
//! This is a state of the book and not a chapter of its own, since admission, the search for free addresses and the usage of ranges,
//! which are the book's, must know it, and chapters do not depend on each other.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_types::{Generation, Moment, Owner};

use super::shared_map::SharedMap;

/// The maximum number of marked addresses of a network.
pub const MOST_QUARANTINED: usize = 4096;

/// The subject of a quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuarantineSubject {
    /// An address that must not be handed out.
    Address(IpAddr),
    /// An allocation whose owner may be gone. It ends with the allocation.
    Allocation(Generation),
}

/// The reason for a quarantine, and its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineMark {
    /// Time at which it began.
    pub since: Moment,
    /// The reason, for people.
    pub reason: Arc<str>,
}

/// An address in quarantine, for readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedAddress {
    /// The address.
    pub address: IpAddr,
    /// The owner that has the address; `None` if it has none.
    pub owner: Option<Owner>,
    /// Whether only the owner is doubtful: once it is gone, the address may be handed out again.
    pub is_doubt: bool,
    /// The reason and the beginning.
    pub mark: QuarantineMark,
}

/// The reason for which an address cannot be put into quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuarantineRefusal {
    /// Neither a range contains the address nor an allocation holds it.
    #[error("{0} is in no range of the network, and nobody holds it")]
    Outside(IpAddr),
    /// The network has too many of them.
    #[error("the network has {MOST_QUARANTINED} addresses in quarantine already")]
    TooMany,
}

/// The marks of a network.
#[derive(Debug, Clone, Default)]
pub(super) struct QuarantineMarks {
    pub(super) addresses: SharedMap<IpAddr, QuarantineMark>,
    pub(super) allocations: SharedMap<Generation, QuarantineMark>,
}

impl QuarantineMarks {
    /// Whether an address must not be handed out.
    pub(super) fn bars(&self, address: IpAddr) -> bool {
        self.addresses.contains_key(&address)
    }

    /// The marked addresses from `first` to `last`.
    pub(super) fn between(&self, first: IpAddr, last: IpAddr) -> impl Iterator<Item = IpAddr> {
        self.addresses.range(first..=last).map(|(address, _)| *address)
    }

    /// Forgets the doubts about an allocation that ended or was renewed.
    pub(super) fn forget(&mut self, generation: Generation) {
        self.allocations.remove(&generation);
    }

    /// The mark of a subject.
    pub(super) fn of(&self, subject: QuarantineSubject) -> Option<&QuarantineMark> {
        match subject {
            QuarantineSubject::Address(address) => self.addresses.get(&address),
            QuarantineSubject::Allocation(generation) => self.allocations.get(&generation),
        }
    }

    /// All marks, addresses first.
    pub(super) fn all(&self) -> impl Iterator<Item = (QuarantineSubject, QuarantineMark)> {
        let address = |(address, mark): (&IpAddr, &QuarantineMark)| {
            (QuarantineSubject::Address(*address), mark.clone())
        };
        let allocation = |(generation, mark): (&Generation, &QuarantineMark)| {
            (QuarantineSubject::Allocation(*generation), mark.clone())
        };
        self.addresses.iter().map(address).chain(self.allocations.iter().map(allocation))
    }
}
