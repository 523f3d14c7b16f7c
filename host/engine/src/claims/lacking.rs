//! Asking for a claim that can do without a family, of which there is nothing at present.
//!
//! A policy does not know that a claim can do without: it refuses for lack of one pool that every grant needs. It is asked again, with
//! a book that has no such pools.

use std::sync::Arc;

use tenure_ledger::{Book, Wish};
use tenure_types::{Error, Outcome, Proposal, Request, Result, agreed};

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

/// The pools whose addresses are all of optional families: those of which none is free, or all if one is free in each. The name of a pool whose first
/// range has not come tells its family.
fn dispensable(book: &Book, wish: &Wish) -> Vec<usize> {
    let is_optional = |is_ipv4: bool| if is_ipv4 { wish.optional.ipv4 } else { wish.optional.ipv6 };
    if !wish.optional.ipv4 && !wish.optional.ipv6 {
        return Vec::new();
    }
    let named = |pool: &usize| agreed::is_pool_of_ipv4(book.pools().get(*pool)?.name.as_str());
    let of = |pool: &usize| match book.ranges(*pool).next() {
        Some(_) => book.ranges(*pool).all(|view| is_optional(view.range.first().is_ipv4())),
        None => named(pool).is_some_and(is_optional),
    };
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

#[cfg(test)]
mod tests {
    use tenure_ledger::{Defined, Families};
    use tenure_types::{
        DefinedPool, Definer, Definition, Moment, NetworkName, Pool, PoolName, Range, Supply,
    };

    use super::*;

    /// A book with pools of these names, the first of which has a range of IPv4.
    fn book(names: &[&str]) -> Book {
        let first = [10, 0, 0, 1].into();
        let range = Range::new("10.0.0.0/24".parse().unwrap(), first, first, None, 24).unwrap();
        let pools = names.iter().enumerate().map(|(index, name)| {
            let pool = Pool { supply: Supply::Host, ..Pool::new(PoolName::new(*name).unwrap()) };
            DefinedPool { pool, ranges: if index == 0 { vec![range.clone()] } else { Vec::new() } }
        });
        let definition = Definition { pools: pools.collect(), ..Definition::default() };
        let defined = Defined { config: &Arc::default(), definition: &definition, by: Definer::Request };
        let mut book = Book::empty(&NetworkName::new("net").unwrap());
        for fact in book.redefine(defined, Moment::default()).unwrap() {
            book.apply(book.through() + 1, &fact).unwrap();
        }
        book
    }

    /// Regression: a pool without any range counted as one of every family.
    #[test]
    fn a_pool_whose_first_range_has_not_come_is_of_the_family_of_its_name() {
        let wish = |ipv4, ipv6| Wish { optional: Families { ipv4, ipv6 }, ..Wish::default() };
        let book = book(&["a.v4", "a.v6", "b.v4", "ipv6", "other"]);
        for (wish, expected) in [
            (wish(false, true), vec![1, 3]),
            (wish(true, false), vec![2]),
            (wish(true, true), vec![1, 2, 3]),
            (wish(false, false), vec![]),
        ] {
            assert_eq!(dispensable(&book, &wish), expected, "{wish:?}");
        }
    }
}
