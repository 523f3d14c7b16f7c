//! Ranges supplied by the host: they are added, drained and withdrawn even while their addresses are held.

use std::sync::Arc;

use tenure_ledger::{Book, EffectFact, Fact, InvalidDefinition};
use tenure_types::{Error, ErrorCode, IntentId, Moment, NetworkName, PoolName, Range, RangeName, Result};

use super::HostEffects;
use super::guard::taker;
use crate::core::Defining;
use crate::network::networks::unknown_network;
use crate::ports::Ticket;

/// A change to the ranges that the host supplies to a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Supply {
    /// Adds a range to a pool.
    Add {
        /// The pool.
        pool: PoolName,
        /// The range.
        range: Box<Range>,
    },
    /// Starts or stops draining a range. A draining range hands out nothing.
    Drain {
        /// The pool.
        pool: PoolName,
        /// The range.
        range: RangeName,
        /// Whether it is to drain.
        draining: bool,
    },
    /// Removes a range. Addresses held in it stay with their owners.
    Withdraw {
        /// The pool.
        pool: PoolName,
        /// The range.
        range: RangeName,
    },
}

impl HostEffects {
    /// Serves [`Engine::supply`](crate::Engine::supply).
    pub(crate) async fn supply(&self, network: &NetworkName, changes: &[Supply]) -> Result<()> {
        self.core.observed("supply", network, None, self.serve_supply(network, changes)).await
    }

    async fn serve_supply(&self, name: &NetworkName, changes: &[Supply]) -> Result<()> {
        let unknown = || unknown_network(name);
        let slot = self.core.networks.known(name).ok_or_else(unknown)?;
        let alone = slot.alone().await;
        let ticket = {
            let defining = self.core.defining();
            let mut state = alone.hold();
            let served = state.as_mut().ok_or_else(unknown)?;
            self.change_supply(&defining, name, &mut served.book, changes, None)?
        };
        ticket.durable().await?;
        self.demands.supplied(name);
        Ok(())
    }

    /// Refuses to hand out what an open intent takes.
    fn check_taken(
        &self,
        name: &NetworkName,
        book: &Book,
        changes: &[Supply],
        ending: Option<&IntentId>,
    ) -> Result<()> {
        let mut open = self.core.committer.node().effects.of(name);
        open.retain(|intent| Some(&intent.id) != ending);
        if open.is_empty() {
            return Ok(());
        }
        for change in changes {
            let range = match change {
                Supply::Add { range, .. } => Some(range.as_ref()),
                Supply::Drain { pool, range, draining: false } => {
                    let pool = book.pools().iter().position(|known| known.name == *pool);
                    let of_pool = pool.into_iter().flat_map(|pool| book.ranges(pool));
                    of_pool.map(|view| view.range).find(|known| known.name() == range)
                }
                Supply::Drain { .. } | Supply::Withdraw { .. } => None,
            };
            if let Some((range, taker)) = range.and_then(|range| Some((range, taker(&open, range)?))) {
                let cause = format_args!("range {} is being taken away by {taker}", range.name());
                return Err(Error::new(ErrorCode::InvalidConfig, cause));
            }
        }
        Ok(())
    }

    /// Checks ranges against the bounds of the network and of its policy, and against networks that share no address.
    pub(crate) fn check_bounds<'r>(
        &self,
        name: &NetworkName,
        mut ranges: impl Iterator<Item = &'r Range> + Clone,
    ) -> Result<()> {
        self.core.check_exclusive(name, ranges.clone())?;
        let (bounds, choice) = (self.core.bounds(), self.core.committer.choice(name));
        let Some(choice) = choice else { return Ok(()) };
        ranges.try_for_each(|range| bounds.check_range(name, &choice.policy.name, range))
    }

    /// Stages and applies the changes, all of them or none, together with one more fact.
    pub(crate) fn change_supply(
        &self,
        _: &Defining<'_>,
        name: &NetworkName,
        book: &mut Arc<Book>,
        changes: &[Supply],
        also: Option<Fact>,
    ) -> Result<Ticket> {
        let added = changes.iter().filter_map(|change| match change {
            Supply::Add { range, .. } => Some(range.as_ref()),
            _ => None,
        });
        self.check_bounds(name, added)?;
        let ending = also.as_ref().and_then(ended);
        self.check_taken(name, book, changes, ending)?;
        let facts = facts(book, changes, self.core.now());
        let mut facts = facts.map_err(|invalid| Error::new(ErrorCode::InvalidConfig, invalid))?;
        facts.extend(also);
        if facts.is_empty() {
            return Ok(self.core.ports.journal.barrier());
        }
        self.core.ports.journal.health()?;
        self.core.committer.commit(book, &facts).map(|(_, ticket)| ticket)
    }
}

/// The intent that a fact ends.
fn ended(fact: &Fact) -> Option<&IntentId> {
    match fact {
        Fact::Effects(EffectFact::Done { id, .. } | EffectFact::Undone { id, .. }) => Some(id),
        _ => None,
    }
}

/// The facts of all changes, each checked with the earlier ones applied.
fn facts(book: &Book, changes: &[Supply], at: Moment) -> Result<Vec<Fact>, InvalidDefinition> {
    let mut draft = book.without_owners();
    let mut facts = Vec::new();
    for change in changes {
        let fact = match change {
            Supply::Add { pool, range } => Some(draft.supply(pool, range.as_ref().clone(), at)?),
            Supply::Drain { pool, range, draining } => draft.drain(pool, range, *draining, at)?,
            Supply::Withdraw { pool, range } => draft.withdraw(pool, range, at)?,
        };
        if let Some(fact) = fact {
            if draft.apply(draft.through() + 1, &fact).is_err() {
                continue;
            }
            facts.push(Fact::from(fact));
        }
    }
    Ok(facts)
}
