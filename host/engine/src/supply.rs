//! Ranges that the host supplies: they come, drain and go while addresses of them are held.

use std::sync::Arc;

use tenure_ledger::{Book, Fact, InvalidDefinition};
use tenure_types::{Error, ErrorCode, Moment, NetworkName, PoolName, Range, RangeName, Result};

use crate::engine::{Defining, Engine};
use crate::ports::Ticket;

/// A change of what the host supplies to a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Supply {
    /// The pool has one more range.
    Add {
        /// The pool.
        pool: PoolName,
        /// The range.
        range: Box<Range>,
    },
    /// A range hands nothing more out, or does so again.
    Drain {
        /// The pool.
        pool: PoolName,
        /// The range.
        range: RangeName,
        /// Whether it drains.
        draining: bool,
    },
    /// A range is gone. What is held in it stays its owners'.
    Withdraw {
        /// The pool.
        pool: PoolName,
        /// The range.
        range: RangeName,
    },
}

impl Engine {
    /// Changes what the host supplies to a network; durable when this returns, all of it or nothing.
    ///
    /// # Errors
    /// `UnknownNetwork`, `OutOfBounds`, and `InvalidConfig` where a pool cannot have a range.
    pub async fn supply(&self, network: &NetworkName, changes: &[Supply]) -> Result<()> {
        self.observed("supply", network, None, self.serve_supply(network, changes)).await
    }

    async fn serve_supply(&self, name: &NetworkName, changes: &[Supply]) -> Result<()> {
        let unknown =
            || Error::new(ErrorCode::UnknownNetwork, format_args!("no network {name} on this node"));
        let slot = self.networks.known(name).ok_or_else(unknown)?;
        let alone = slot.alone().await;
        let ticket = {
            let defining = self.defining();
            let mut state = alone.hold();
            let served = state.as_mut().ok_or_else(unknown)?;
            self.change_supply(&defining, name, &mut served.book, changes)?
        };
        ticket.durable().await
    }

    /// Stages and applies the changes, all of them or none.
    fn change_supply(
        &self,
        _: &Defining<'_>,
        name: &NetworkName,
        book: &mut Arc<Book>,
        changes: &[Supply],
    ) -> Result<Ticket> {
        let added = changes.iter().filter_map(|change| match change {
            Supply::Add { range, .. } => Some(range.as_ref()),
            _ => None,
        });
        self.check_exclusive(name, added.clone())?;
        let (bounds, choice) = (self.bounds(), self.committer.choice(name));
        for range in added {
            if let Some(choice) = &choice {
                bounds.check_range(name, &choice.policy.name, range)?;
            }
        }
        let facts = facts(book, changes, self.now());
        let facts = facts.map_err(|invalid| Error::new(ErrorCode::InvalidConfig, invalid))?;
        if facts.is_empty() {
            return Ok(self.ports.journal.barrier());
        }
        self.ports.journal.health()?;
        self.committer.commit(book, &facts).map(|(_, ticket)| ticket)
    }
}

/// The facts of all changes, each judged with those before it done.
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
