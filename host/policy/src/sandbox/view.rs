//! The functions that a policy imports: its view of a network during a call, and the log.
//!
//! They read a prepared view and never block. While a network is being defined there is no book, and they answer as
//! for an empty network.

use std::net::IpAddr;

use tenure_ledger::{Book, Direction, Shelf};

use super::bindings::tenure::ipam::{configuration, ledger, log, types};
use super::call::Call;
use super::sight::Sight;
use super::{question, to_wit};
use crate::text::clean;

/// The most addresses in one answer.
const LONGEST_LIST: usize = 1024;

/// The most ranges, or values of a label, in one answer: each is many times as long as an address.
const LONGEST_TABLE: usize = 256;

impl Call {
    fn book(&self) -> Option<&Book> {
        match &self.sight {
            Sight::Book(book) => Some(book),
            Sight::Configuration(_) => None,
        }
    }

    fn shelf<'a>(&'a self, pool: u32, label: Option<&'a types::Attribute>) -> Option<(&'a Book, Shelf<'a>)> {
        let label = label.map(|label| (label.name.as_str(), label.value.as_str()));
        Some((self.book()?, Shelf { pool: usize::try_from(pool).ok()?, label }))
    }
}

impl types::Host for Call {}

impl ledger::Host for Call {
    fn pools(&mut self) -> Vec<types::Pool> {
        self.book().map(|book| book.pools().iter().map(types::Pool::from).collect()).unwrap_or_default()
    }

    fn pool_named(&mut self, name: String) -> Option<u32> {
        let position = self.book()?.pools().iter().position(|pool| pool.name.as_str() == name);
        u32::try_from(position?).ok()
    }

    fn pool_of(&mut self, address: String) -> Option<u32> {
        u32::try_from(self.book()?.pool_of(address.parse().ok()?)?).ok()
    }

    fn range_of(&mut self, address: String) -> Option<types::AddressRange> {
        let (_, range) = self.book()?.locate(address.parse().ok()?)?;
        Some(range.into())
    }

    fn ranges(
        &mut self,
        pool: u32,
        label: Option<types::Attribute>,
        start: u32,
        limit: u32,
    ) -> Vec<ledger::RangeView> {
        let Some((book, shelf)) = self.shelf(pool, label.as_ref()) else { return Vec::new() };
        let has_label = |attributes: &tenure_types::Attributes| {
            shelf.label.is_none_or(|(name, value)| attributes.get(name) == Some(value))
        };
        let ranges = book.ranges(shelf.pool).filter(|view| has_label(view.range.attributes()));
        let piece = ranges.skip(capped(start, usize::MAX)).take(capped(limit, LONGEST_TABLE));
        piece.map(ledger::RangeView::from).collect()
    }

    fn standing_of(&mut self, address: String) -> ledger::Standing {
        match (self.book(), address.parse()) {
            (Some(book), Ok(address)) => book.standing(address).into(),
            _ => ledger::Standing::Outside,
        }
    }

    fn free(
        &mut self,
        pool: u32,
        label: Option<types::Attribute>,
        after: Option<String>,
        direction: ledger::Direction,
        limit: u32,
    ) -> Vec<String> {
        let Some((book, shelf)) = self.shelf(pool, label.as_ref()) else { return Vec::new() };
        let after = after.and_then(|after| after.parse().ok());
        let direction = match direction {
            ledger::Direction::Ascending | ledger::Direction::Other(_) => Direction::Ascending,
            ledger::Direction::Descending => Direction::Descending,
        };
        texts(&book.free(shelf, after, direction, capped(limit, LONGEST_LIST)))
    }

    fn cooling(&mut self, pool: u32, label: Option<types::Attribute>, limit: u32) -> Vec<String> {
        let Some((book, shelf)) = self.shelf(pool, label.as_ref()) else { return Vec::new() };
        texts(&book.cooling(shelf, capped(limit, LONGEST_LIST)))
    }

    fn last(&mut self, pool: u32, label: Option<types::Attribute>) -> Option<String> {
        let (book, shelf) = self.shelf(pool, label.as_ref())?;
        Some(book.last(shelf)?.to_string())
    }

    fn usage_of(&mut self, pool: u32, label: Option<types::Attribute>) -> ledger::Usage {
        let usage = self.shelf(pool, label.as_ref()).map(|(book, shelf)| book.usage(shelf));
        usage.unwrap_or_default().into()
    }

    fn usage_by(
        &mut self,
        pool: u32,
        label: String,
        after: Option<String>,
        limit: u32,
    ) -> Vec<ledger::LabelUsage> {
        let Some((book, shelf)) = self.shelf(pool, None) else { return Vec::new() };
        let values = book.usage_by(shelf.pool, &label, after.as_deref()).take(capped(limit, LONGEST_TABLE));
        values.map(|(value, usage)| ledger::LabelUsage { value: value.into(), usage: usage.into() }).collect()
    }

    fn count_of(&mut self, name: String, value: String) -> u32 {
        self.book().map_or(0, |book| book.count(&name, &value))
    }

    fn last_of(&mut self, name: String) -> Vec<ledger::Place> {
        let Some(book) = self.book() else { return Vec::new() };
        let place = |(_, address): &(_, IpAddr)| {
            let pool = u32::try_from(book.pool_of(*address)?).ok()?;
            Some(ledger::Place { pool, address: address.to_string() })
        };
        book.last_of(&name).iter().filter_map(place).collect()
    }
}

impl configuration::Host for Call {
    fn get(&mut self) -> types::Config {
        match &self.sight {
            Sight::Configuration(config) => types::Config::clone(config),
            Sight::Book(book) => question::configuration(book.name(), &book.network().config),
        }
    }

    fn definition_attributes(&mut self) -> Vec<types::Attribute> {
        self.book().map(|book| to_wit::attributes(&book.network().attributes)).unwrap_or_default()
    }

    fn ranges(&mut self, path: String) -> Result<Vec<Vec<types::AddressRange>>, types::ConfigError> {
        const RUNTIME: &str = tenure_sdk_config::RUNTIME_RANGES;
        let (ipam, runtime_ranges) = match &self.sight {
            Sight::Configuration(config) => {
                let runtime = config.attributes.iter().find(|attribute| attribute.name == RUNTIME);
                (&config.ipam, runtime.map(|attribute| attribute.value.as_str()))
            }
            Sight::Book(book) => {
                let config = &book.network().config;
                let runtime = config.attributes.iter().find(|(name, _)| name == RUNTIME);
                (&config.ipam, runtime.map(|(_, value)| value.as_str()))
            }
        };
        let sets = tenure_sdk_config::read(tenure_sdk_config::Texts { ipam, runtime_ranges }, &path);
        match sets {
            Ok(sets) => {
                Ok(sets.into_iter().map(|set| set.0.into_iter().map(to_wit::configured).collect()).collect())
            }
            Err(error) => {
                let (path, message) = (error.path, error.message);
                Err(types::ConfigError { path, message, attributes: Vec::new() })
            }
        }
    }
}

impl log::Host for Call {
    fn write(&mut self, level: log::Level, message: String) {
        let message = clean(&message);
        let level = match level {
            log::Level::Debug => tracing::Level::DEBUG,
            log::Level::Info | log::Level::Other(_) => tracing::Level::INFO,
            log::Level::Warn => tracing::Level::WARN,
        };
        self.log.write(level, &message);
        if level == tracing::Level::WARN {
            self.warning = Some(message);
        }
    }
}

fn capped(limit: u32, most: usize) -> usize {
    usize::try_from(limit).unwrap_or(most).min(most)
}

fn texts(addresses: &[IpAddr]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}
