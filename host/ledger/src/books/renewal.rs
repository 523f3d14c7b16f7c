//! An ADD that is repeated: what it means for the allocation that its owner has already.
//!
//! A runtime that asks again goes on with what it is told from then on. Whatever was meant for the request before it - a DEL that
//! was held up, the end of a namespace that the container has left - no longer means the allocation. So the repeat is a fact.

use std::cmp::{self, Ordering};

use tenure_types::{Allocation, Request, Sandbox};

use super::{Book, LedgerFact};

/// What a repeated request makes of the allocation that its owner has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repeat {
    /// It is the request that made or last renewed the allocation, or one before it: nothing changes.
    Same,
    /// It began later, or names the namespace: the allocation counts from it on, once this fact is durable.
    Renews(LedgerFact),
    /// It began earlier and names another namespace: its runtime has given it up since.
    Outdated,
}

impl Book {
    /// Tells what a request means for the allocation that its owner has; `None` when it has none.
    #[must_use]
    pub fn repeat(&self, request: &Request) -> Option<Repeat> {
        let held = self.owned_by(&request.owner)?;
        let moved = held.netns() != &*request.sandbox.netns;
        Some(match request.requested_at.boot_ns.cmp(&held.requested_at.boot_ns) {
            // An import knows of no namespace, so any that is named is news.
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

/// The allocation as it is once a renewal is durable.
pub(super) fn renewed(held: &Allocation, renewal: &LedgerFact) -> Allocation {
    let mut renewed = held.clone();
    if let LedgerFact::Renewed { requested_at, netns, netns_seen, .. } = renewal {
        let pod = held.pod().cloned();
        let sandbox = Sandbox { pod, netns: netns.clone(), netns_seen: *netns_seen };
        renewed.sandbox = (!sandbox.is_empty()).then(|| Box::new(sandbox));
        renewed.requested_at = *requested_at;
    }
    renewed
}

#[cfg(test)]
mod tests;
