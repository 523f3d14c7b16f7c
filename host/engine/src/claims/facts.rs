//! The facts by which claims begin and end.

use std::sync::Arc;

use tenure_ledger::{Book, Claim, ClaimFact, ClaimKey, Fact, LedgerFact, Presence, Wish};
use tenure_types::{Allocation, Moment};

use super::AgentClaims;

impl AgentClaims {
    /// The facts that end a claim with its allocation; none if it has ended already.
    pub(crate) fn ending(&self, book: &Book, key: &ClaimKey, at: Moment, reason: &str) -> Vec<Fact> {
        let known = self.core.committer.node().claims.get(key).map(|claim| claim.generation);
        let released = book.release(&key.owner(), at, reason);
        let unclaimed = known.map(|generation| {
            ClaimFact::Released { key: key.clone(), generation, at, reason: reason.into() }.into()
        });
        released.map(Fact::from).into_iter().chain(unclaimed).collect()
    }
}

/// The facts of a new claim and its allocation, which become durable together.
pub(super) fn beginning(
    key: &ClaimKey,
    wish: &Wish,
    allocation: Allocation,
    made_at: Moment,
    now: Moment,
) -> [Fact; 2] {
    let claimed = claimed_fact(key, wish, &allocation, made_at, now);
    [LedgerFact::Allocated(Arc::new(allocation)).into(), claimed]
}

/// The fact of a new claim, to be staged with its allocation.
pub(crate) fn claimed_fact(
    key: &ClaimKey,
    wish: &Wish,
    held: &Allocation,
    made_at: Moment,
    now: Moment,
) -> Fact {
    ClaimFact::Claimed(claim(key, wish, held, made_at, now)).into()
}

pub(super) fn claim(key: &ClaimKey, wish: &Wish, held: &Allocation, made_at: Moment, now: Moment) -> Claim {
    let (generation, presence) = (held.generation, Presence::Here(now));
    Claim { key: key.clone(), wish: wish.clone(), generation, made_at, presence }
}
