//! Making the ranges of a network agree with the leases of the ledger.
//!
//! ```text
//!   a lease without ranges                          its ranges are added
//!   other settings than its ranges have             the ranges are replaced; an address that is held stays as its owner got it
//!   settings that cannot be applied                 the ranges stay as they are, and a condition says so
//!   ranges of a lease that is not open              they drain, and those of an open one do not
//!   an open lease of an earlier boot                they drain until it is confirmed
//!   ranges without a lease                          they are withdrawn
//!   a block that is being given back                its intent's own
//! ```

use std::collections::BTreeMap;

use ipnet::IpNet;
use tenure_engine::Supply;
use tenure_leases::agent::ledger::LeaseHold;
use tenure_ledger::Book;
use tenure_types::{NetworkName, PoolName, Range};

use crate::agent::core::AgentCore;
use crate::agent::ranges::{BlockRangeError, block_ranges};
use crate::agent::records::HeldLease;
use crate::agent::settings::PoolFamily;
use crate::agent::usage::labelled;

/// A range that a network has: its pool, the range, and whether it drains.
type KnownRange = (PoolName, Range, bool);

impl AgentCore {
    /// Makes the ranges of a network agree with the leases.
    pub(crate) async fn supply(&self, network: &NetworkName) -> tenure_types::Result<()> {
        let Some(book) = self.book(network).await else { return Ok(()) };
        let mut known: BTreeMap<IpNet, Vec<KnownRange>> = BTreeMap::new();
        for (pool, view, cidr) in labelled(&book) {
            known.entry(cidr).or_default().push((pool.name.clone(), view.range.clone(), view.draining));
        }
        let mut changes = Vec::new();
        for lease in self.leases().into_values() {
            let present = known.remove(&lease.cidr()).unwrap_or_default();
            if self.settings.network_of(&lease.pool.name) == Some(network)
                && self.giving_back(lease.cidr()).is_none()
            {
                changes.extend(self.changes_of(&book, &lease, present));
            }
        }
        for (cidr, ranges) in known {
            if self.giving_back(cidr).is_none() {
                changes.extend(ranges.into_iter().map(|(pool, range, _)| withdraw(pool, &range)));
            }
        }
        drop(book);
        if changes.is_empty() {
            return Ok(());
        }
        self.engine.supply(network, &changes).await
    }

    fn changes_of(&self, book: &Book, lease: &HeldLease, present: Vec<KnownRange>) -> Vec<Supply> {
        let family = PoolFamily::of(lease.cidr());
        let Ok(pool) = PoolName::new(format!("{}{}", lease.pool.name, family.suffix())) else {
            return Vec::new();
        };
        if book.pools().iter().all(|known| known.name != pool) {
            return Vec::new();
        }
        // Nothing is handed out of a block whose exclusions are not known, and nothing of one that is frozen.
        let settings = self.state().in_force.get(&lease.pool.uid).cloned();
        let is_frozen = matches!(lease.hold, LeaseHold::Frozen(_));
        let (Some(settings), false) = (settings, is_frozen && present.is_empty()) else { return Vec::new() };
        let wanted = block_ranges(lease.cidr(), &settings, &book.network().attributes);
        // A mistake in the pool takes nothing from a running node.
        let Some(wanted) = self.noted(lease.cidr(), wanted) else { return Vec::new() };
        let drains = lease.hold != LeaseHold::Open || self.state().unconfirmed.contains(&lease.cidr());
        let mut changes = Vec::new();
        let mut kept = Vec::new();
        for (of, range, draining) in present {
            match wanted.contains(&range) && of == pool {
                false => changes.push(withdraw(of, &range)),
                true => {
                    let drain =
                        || Supply::Drain { pool: of.clone(), range: range.name().clone(), draining: drains };
                    changes.extend((draining != drains).then(drain));
                    kept.push(range);
                }
            }
        }
        for range in wanted.into_iter().filter(|range| !kept.contains(range)) {
            let name = range.name().clone();
            changes.push(Supply::Add { pool: pool.clone(), range: Box::new(range) });
            if drains {
                changes.push(Supply::Drain { pool: pool.clone(), range: name, draining: true });
            }
        }
        changes
    }
}

impl AgentCore {
    /// The ranges of a block; or notes why its pool's settings cannot be applied to it.
    fn noted(&self, cidr: IpNet, ranges: Result<Vec<Range>, BlockRangeError>) -> Option<Vec<Range>> {
        let mut state = self.state();
        match ranges {
            Ok(ranges) => {
                state.unapplied.remove(&cidr);
                Some(ranges)
            }
            Err(error) => {
                let words = error.to_string();
                if state.unapplied.insert(cidr, words.clone()).as_ref() != Some(&words) {
                    tracing::error!(block = %cidr, error = words, "the pool's settings cannot be applied to a block, which stays as it is");
                }
                None
            }
        }
    }
}

fn withdraw(pool: PoolName, range: &Range) -> Supply {
    Supply::Withdraw { pool, range: range.name().clone() }
}
