//! Asking for a claim that can do without a family, of which there is nothing at present.
//!
//! A policy does not know that a claim can do without: it refuses for lack of one pool that every grant needs. It is asked again, with
//! a book that has no such pools.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_ledger::{Book, Wish};
use tenure_types::{Error, Outcome, Proposal, Request, Result};

use super::AgentClaims;
use super::question::ClaimQuestion;
use crate::core::strikes::Requester;

/// A policy's answer, and the pools that it was not shown.
pub(super) struct Offered {
    pub(super) outcome: Outcome,
    pub(super) without: Vec<usize>,
}

impl AgentClaims {
    /// Asks a policy again that has refused a claim with this error, without the pools that the claim can do without. The caller has
    /// the network's turn.
    pub(super) async fn ask_without(
        &self,
        requester: &Requester,
        request: &Request,
        asked: &ClaimQuestion<'_>,
        state: Arc<[u8]>,
        refused: Error,
    ) -> Result<Offered> {
        let ClaimQuestion { policy, book, wish, .. } = asked;
        let policy = *policy;
        let without = dispensable(book, wish);
        if without.is_empty() || without.len() == book.pools().len() {
            return Err(refused);
        }
        let rest = Arc::new(book.without_pools(&without));
        let question = || policy.propose(request, rest, state);
        let Outcome { proposal, state } =
            self.core.ask_for(requester, &request.network, policy, question).await?;
        let proposal = renumbered(proposal, book.pools().len(), &without);
        Ok(Offered { outcome: Outcome { proposal, state }, without })
    }
}

/// The pools whose addresses are all of optional families: those of which none is free, or all if one is free in each.
fn dispensable(book: &Book, wish: &Wish) -> Vec<usize> {
    let is_optional = |address: IpAddr| match address {
        IpAddr::V4(_) => wish.optional.ipv4,
        IpAddr::V6(_) => wish.optional.ipv6,
    };
    if !wish.optional.ipv4 && !wish.optional.ipv6 {
        return Vec::new();
    }
    let of = |pool: &usize| book.ranges(*pool).all(|view| is_optional(view.range.first()));
    let all: Vec<usize> = (0..book.pools().len()).filter(of).collect();
    let empty: Vec<usize> = all.iter().copied().filter(|pool| book.is_exhausted(*pool)).collect();
    if empty.is_empty() { all } else { empty }
}

/// A proposal for a book without some pools, for the whole book. What names no pool of the former names none of the latter.
fn renumbered(mut proposal: Proposal, pools: usize, without: &[usize]) -> Proposal {
    let shown: Vec<usize> = (0..pools).filter(|pool| !without.contains(pool)).collect();
    for assignment in &mut proposal.assignments {
        assignment.pool = shown.get(assignment.pool).copied().unwrap_or(pools);
    }
    proposal
}
