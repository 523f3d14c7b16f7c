//! What a policy may see during a call, and the log: the functions that it imports.
//!
//! They read a prepared view and never block. Outside of an allocation there is no view, and they answer as an empty network
//! would.

use std::net::IpAddr;

use tenure_ledger::{Book, Direction, Shelf, Standing};
use tenure_types::Range;

use super::bindings::tenure::ipam::{ledger, log, types};
use super::call::Call;
use crate::text::clean;

/// The most addresses that one answer of the view has.
const LONGEST_LIST: usize = 1024;

impl Call {
    fn pool_index(&self, pool: u32) -> Option<(&Book, usize)> {
        Some((self.book.as_deref()?, usize::try_from(pool).ok()?))
    }
}

impl types::Host for Call {}

impl ledger::Host for Call {
    fn pools(&mut self) -> Vec<types::Pool> {
        let Some(book) = &self.book else { return Vec::new() };
        let pool = |pool: usize| types::Pool {
            ranges: book.ranges(pool).map(|view| types::AddressRange::from(view.range)).collect(),
        };
        (0..book.pools().len()).map(pool).collect()
    }

    fn pool_of(&mut self, address: String) -> Option<u32> {
        let pool = self.book.as_ref()?.pool_of(address.parse().ok()?)?;
        u32::try_from(pool).ok()
    }

    fn standing_of(&mut self, address: String) -> ledger::Standing {
        match (&self.book, address.parse()) {
            (Some(book), Ok(address)) => book.standing(address).into(),
            _ => ledger::Standing::Outside,
        }
    }

    fn free(
        &mut self,
        pool: u32,
        after: Option<String>,
        direction: ledger::Direction,
        limit: u32,
    ) -> Vec<String> {
        let Some((book, pool)) = self.pool_index(pool) else { return Vec::new() };
        let after = after.and_then(|after| after.parse().ok());
        let direction = match direction {
            ledger::Direction::Ascending => Direction::Ascending,
            ledger::Direction::Descending => Direction::Descending,
        };
        texts(&book.free(Shelf::whole(pool), after, direction, capped(limit)))
    }

    fn cooling(&mut self, pool: u32, limit: u32) -> Vec<String> {
        let Some((book, pool)) = self.pool_index(pool) else { return Vec::new() };
        texts(&book.cooling(Shelf::whole(pool), capped(limit)))
    }

    fn last(&mut self, pool: u32) -> Option<String> {
        let (book, pool) = self.pool_index(pool)?;
        Some(book.last(Shelf::whole(pool))?.to_string())
    }

    fn usage_of(&mut self, pool: u32) -> ledger::Usage {
        let usage =
            self.pool_index(pool).map(|(book, pool)| book.usage(Shelf::whole(pool))).unwrap_or_default();
        ledger::Usage { total: usage.total, held: usage.held, cooling: usage.cooling }
    }
}

impl log::Host for Call {
    fn write(&mut self, level: log::Level, message: String) {
        let message = clean(&message);
        let level = match level {
            log::Level::Debug => tracing::Level::DEBUG,
            log::Level::Info => tracing::Level::INFO,
            log::Level::Warn => tracing::Level::WARN,
        };
        self.log.write(level, &message);
        if level == tracing::Level::WARN {
            self.warning = Some(message);
        }
    }
}

fn capped(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(LONGEST_LIST).min(LONGEST_LIST)
}

fn texts(addresses: &[IpAddr]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}

impl From<Standing> for ledger::Standing {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Free => Self::Free,
            Standing::Held => Self::Held,
            Standing::Cooling => Self::Cooling,
            Standing::Reserved => Self::Reserved,
            Standing::Draining => Self::Other("draining".to_owned()),
            Standing::Outside => Self::Outside,
        }
    }
}

impl From<&Range> for types::AddressRange {
    fn from(range: &Range) -> Self {
        Self {
            subnet: range.subnet().to_string(),
            first: range.first().to_string(),
            last: range.last().to_string(),
            gateway: range.gateway().map(|gateway| gateway.to_string()),
            prefix_length: range.prefix_length(),
        }
    }
}
