//! The networks that were removed, and what is still to be known of them.
//!
//! A freed address cools down although its network is removed: whichever network gets the address in a range of its own
//! meanwhile, under the same name or another, has it cooling; and an address in quarantine stays there until it is lifted. A claim of another IPAM that has ended stays ended: a network that is
//! made again under the same name knows it, so that no import brings it back. That follows from the facts of removals,
//! definitions and ranges, so that a recovery finds the same.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure_types::{Moment, NetworkName};

use super::cooling::CoolingAddress;
use super::quarantine::{QuarantineMark, QuarantineSubject};
use super::{Book, LedgerFact, MOST_SETTLED};

/// A network that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemovedNetwork {
    /// The place of the fact that removed it: facts about it up to that place are obsolete.
    pub through: u64,
    /// The addresses that were cooling down then, in order.
    pub cooling: Vec<CoolingAddress>,
    /// The claims of other IPAMs that had ended, by address.
    pub settled: Vec<(IpAddr, Arc<str>)>,
    /// The addresses that were in quarantine, in order, without those that were lifted in another network since.
    pub quarantined: Vec<(IpAddr, QuarantineMark)>,
}

/// The networks that were removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemovedNetworks {
    networks: BTreeMap<NetworkName, Removed>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Removed {
    through: u64,
    cooling: BTreeMap<IpAddr, CoolingAddress>,
    settled: BTreeMap<IpAddr, Arc<str>>,
    quarantined: BTreeMap<IpAddr, QuarantineMark>,
}

impl RemovedNetworks {
    /// Whether [`follow`](Self::follow) needs a fact.
    #[must_use]
    pub fn concerns(fact: &LedgerFact) -> bool {
        matches!(
            fact,
            LedgerFact::Removed { .. }
                | LedgerFact::RangeAdded { .. }
                | LedgerFact::Defined(_)
                | LedgerFact::QuarantineLifted { .. }
        )
    }

    /// Follows a fact that was applied to its book: remembers what cools and what has ended in a network that was removed, and
    /// tells the books that come after it.
    pub fn follow(&mut self, place: u64, fact: &LedgerFact, book: &mut Book) {
        self.tell(fact, book);
        match fact {
            LedgerFact::Removed { network, .. } => {
                let (cooling, settled) = (book.cooling_entries().collect(), book.settled_claims());
                let quarantined = book.marked_addresses().collect();
                let removed = RemovedNetwork { through: place, cooling, settled, quarantined };
                self.restore(network.clone(), removed);
                self.forget_the_longest_removed();
            }
            // The book has them now.
            LedgerFact::Defined(network) => {
                if let Some(removed) = self.networks.get_mut(&network.name) {
                    removed.settled = BTreeMap::new();
                }
            }
            LedgerFact::QuarantineLifted { .. } => self.lift(place, fact),
            _ => {}
        }
    }

    /// Forgets an address that was lifted, if its quarantine is older than that.
    pub fn lift(&mut self, place: u64, fact: &LedgerFact) {
        let LedgerFact::QuarantineLifted { subject: QuarantineSubject::Address(address), .. } = fact else {
            return;
        };
        let before = self.networks.values_mut().filter(|removed| removed.through < place);
        before.for_each(|removed| _ = removed.quarantined.remove(address));
    }

    /// Lets the addresses of a range that was added go on cooling and stay in quarantine, and the claims of a network that is made again stay ended.
    pub fn tell(&self, fact: &LedgerFact, book: &mut Book) {
        if let LedgerFact::Defined(network) = fact
            && let Some(removed) = self.networks.get(&network.name)
        {
            let settled = removed.settled.iter().map(|(address, claim)| (*address, Arc::clone(claim)));
            book.stay_settled(settled);
        }
        let LedgerFact::RangeAdded { range, .. } = fact else { return };
        for removed in self.networks.values() {
            let marked = removed.quarantined.range(range.first()..=range.last());
            marked.for_each(|(address, mark)| book.stay_quarantined(*address, mark.clone()));
        }
        let within = |of: &Removed| {
            Vec::from_iter(of.cooling.range(range.first()..=range.last()).map(|(_, one)| *one))
        };
        let mut cooling: Vec<CoolingAddress> = self.networks.values().flat_map(within).collect();
        cooling.sort_by_key(|cooling| cooling.since.boot_ns);
        cooling.into_iter().for_each(|cooling| book.go_on_cooling(cooling));
    }

    /// Adds what is known of a network; of two entries for an address the one that cools for longer counts.
    pub fn restore(&mut self, network: NetworkName, of: RemovedNetwork) {
        let removed = self.networks.entry(network).or_default();
        removed.through = removed.through.max(of.through);
        for cooling in of.cooling {
            let known = removed.cooling.entry(cooling.address).or_insert(cooling);
            if ends(&cooling) > ends(known) {
                *known = cooling;
            }
        }
        removed.settled.extend(of.settled);
        removed.quarantined.extend(of.quarantined);
    }

    /// The mark of an address that is in quarantine in any of them.
    #[must_use]
    pub fn quarantine_of(&self, address: IpAddr) -> Option<&QuarantineMark> {
        self.networks.values().find_map(|removed| removed.quarantined.get(&address))
    }

    /// Whether exactly this claim of an address had ended when the network was removed.
    #[must_use]
    pub fn is_settled(&self, network: &NetworkName, address: IpAddr, claim: &str) -> bool {
        let removed = self.networks.get(network);
        removed.and_then(|removed| removed.settled.get(&address)).is_some_and(|settled| **settled == *claim)
    }

    /// Keeps to the bound: forgets the claims of the networks that were removed first.
    fn forget_the_longest_removed(&mut self) {
        while self.networks.values().map(|removed| removed.settled.len()).sum::<usize>() > MOST_SETTLED {
            let known = self.networks.values_mut().filter(|removed| !removed.settled.is_empty());
            let Some(longest) = known.min_by_key(|removed| removed.through) else { return };
            longest.settled = BTreeMap::new();
        }
    }

    /// The place up to which facts about a network are obsolete.
    #[must_use]
    pub fn through(&self, network: &NetworkName) -> Option<u64> {
        self.networks.get(network).map(|removed| removed.through)
    }

    /// Returns the known facts about a network.
    #[must_use]
    pub fn get(&self, network: &NetworkName) -> Option<RemovedNetwork> {
        let removed = self.networks.get(network)?;
        Some(RemovedNetwork {
            through: removed.through,
            cooling: removed.cooling.values().copied().collect(),
            settled: removed.settled.iter().map(|(address, claim)| (*address, Arc::clone(claim))).collect(),
            quarantined: removed.quarantined.iter().map(|(address, mark)| (*address, mark.clone())).collect(),
        })
    }

    /// The networks, in order.
    pub fn names(&self) -> impl Iterator<Item = &NetworkName> {
        self.networks.keys()
    }

    /// Forgets the networks that were removed before this place and have neither cooling nor quarantined addresses nor ended claims.
    pub fn forget_before(&mut self, first: u64) {
        let is_known = |removed: &Removed| {
            !removed.cooling.is_empty() || !removed.settled.is_empty() || !removed.quarantined.is_empty()
        };
        self.networks.retain(|_, removed| removed.through >= first || is_known(removed));
    }

    /// Forgets the addresses that have cooled down, where `cooldown` is the node's.
    pub fn expire(&mut self, now: Moment, cooldown: Duration) {
        for removed in self.networks.values_mut() {
            removed.cooling.retain(|_, cooling| !cooling.is_over(now, cooldown));
        }
    }

    /// Restarts every cooldown: moments of two boots cannot be compared.
    pub fn enter_boot(&mut self, now: Moment) {
        let cooling = self.networks.values_mut().flat_map(|removed| removed.cooling.values_mut());
        cooling.for_each(|cooling| cooling.since = now);
    }
}

/// Returns the end of an address's cooldown.
pub(super) fn ends(cooling: &CoolingAddress) -> (u64, u64) {
    let lasts = u64::from(cooling.seconds) * 1_000_000_000;
    (cooling.since.boot_ns.saturating_add(lasts), cooling.since.boot_ns)
}
