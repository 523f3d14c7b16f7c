//! The ranges of pools that the host supplies: a test adds, drains and withdraws them, as the host does.

use std::fmt::Display;

use tenure_ledger::LedgerFact;
use tenure_sdk::Range;
use tenure_types::{Error, ErrorCode, PoolName, RangeName};

use crate::node::named;
use crate::{Node, Subject, convert};

impl<S: Subject> Node<S> {
    /// Adds a range to a pool. An unnamed range has its ends as its name: `10.1.0.16-10.1.0.31`.
    ///
    /// # Errors
    /// If the host does not supply the pool, or the pool cannot take the range.
    pub fn supply(&mut self, pool: &str, range: &Range) -> Result<(), Error> {
        let (pool, range, now) = (named(PoolName::new(pool))?, convert::range(range)?, self.now());
        let fact = self.book().supply(&pool, range, now).map_err(refused)?;
        self.apply(&fact)
    }

    /// Begins to drain a range: it hands out nothing more, and what is held stays. `false` if there is no such range,
    /// or it drains already.
    ///
    /// # Errors
    /// If the host does not supply the pool.
    pub fn drain(&mut self, pool: &str, range: &str) -> Result<bool, Error> {
        let (pool, range, now) = (named(PoolName::new(pool))?, named(RangeName::new(range))?, self.now());
        let fact = self.book().drain(&pool, &range, true, now).map_err(refused)?;
        self.changed(fact.as_ref())
    }

    /// Withdraws a range. `false` if there is no such range.
    ///
    /// # Errors
    /// If the host does not supply the pool.
    pub fn withdraw(&mut self, pool: &str, range: &str) -> Result<bool, Error> {
        let (pool, range, now) = (named(PoolName::new(pool))?, named(RangeName::new(range))?, self.now());
        let fact = self.book().withdraw(&pool, &range, now).map_err(refused)?;
        self.changed(fact.as_ref())
    }

    fn changed(&mut self, fact: Option<&LedgerFact>) -> Result<bool, Error> {
        fact.map_or(Ok(false), |fact| self.apply(fact).map(|()| true))
    }
}

fn refused(why: impl Display) -> Error {
    Error::new(ErrorCode::InvalidConfig, why)
}
