//! Repeated ADDs, and their effect on the owner's existing allocation.
//!
//! A runtime that repeats an ADD relies on the repeat's answer. Anything that refers to the request before it - a
//! delayed DEL, the end of a namespace that the container has left - must no longer affect the allocation. So the
//! repeat is recorded as a fact.

use std::cmp::{self, Ordering};

use tenure_types::{Allocation, Request, Sandbox};

use super::Book;
use crate::books::LedgerFact;

/// The effect of a repeated request on its owner's allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repeat {
    /// The same request made or last renewed the allocation, or an earlier one: nothing changes.
    Same,
    /// The request began later, or names the namespace for the first time: this fact renews the allocation.
    Renews(LedgerFact),
    /// The request began earlier and names another namespace: its runtime has since given it up.
    Outdated,
}

impl Book {
    /// Returns the effect of a request on its owner's allocation; `None` if the owner has none.
    #[must_use]
    pub fn repeat(&self, request: &Request) -> Option<Repeat> {
        let held = self.owned_by(&request.owner)?;
        let moved = held.netns() != &*request.sandbox.netns;
        Some(match request.requested_at.boot_ns.cmp(&held.requested_at.boot_ns) {
            // An imported allocation has no namespace, so any request may name one.
            Ordering::Less if moved && !held.netns().is_empty() => Repeat::Outdated,
            Ordering::Less | Ordering::Equal if !moved => Repeat::Same,
            _ => Repeat::Renews(renewal(held, request)),
        })
    }
}

fn renewal(held: &Allocation, request: &Request) -> LedgerFact {
    let Sandbox { netns, netns_seen, .. } = &request.sandbox;
    LedgerFact::Renewed {
        network: held.network.clone(),
        generation: held.generation,
        requested_at: cmp::max_by_key(held.requested_at, request.requested_at, |at| at.boot_ns),
        netns: netns.clone(),
        netns_seen: netns_seen.or(held.netns_seen().filter(|_| held.netns() == &**netns)),
    }
}

/// The allocation after a renewal.
pub(super) fn renewed(held: &Allocation, renewal: &LedgerFact) -> Allocation {
    let mut renewed = held.clone();
    if let LedgerFact::Renewed { requested_at, netns, netns_seen, .. } = renewal {
        renewed.sandbox.netns = netns.clone();
        renewed.sandbox.netns_seen = *netns_seen;
        renewed.requested_at = *requested_at;
    }
    renewed
}

#[cfg(test)]
mod tests;
