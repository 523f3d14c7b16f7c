//! Answers a policy's questions from a book of the ledger, with the host's limits.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_ledger::{Book, Direction, RangeView, Shelf, Standing, Usage};
use tenure_sdk::Config;
use tenure_sdk::bindings::tenure::ipam::{ledger, types};
use tenure_sdk::native::Host;
use tenure_types::{Attributes, Need, Range, Supply};

/// The most addresses in one answer.
const LONGEST_LIST: usize = 1024;

/// The most ranges, or values of a label, in one answer.
const LONGEST_TABLE: usize = 256;

/// A network that is being defined: it has a configuration, and no pools yet.
pub(crate) struct DefiningNetwork(pub(crate) Config);

impl Host for DefiningNetwork {
    fn config(&self) -> types::Config {
        let attributes = self.0.attributes.iter().map(|(name, value)| attribute(name, value)).collect();
        types::Config { name: self.0.name.clone(), ipam: self.0.ipam.clone(), attributes }
    }
}

/// A network that serves requests.
pub(crate) struct Serving(pub(crate) Arc<Book>);

impl Host for Serving {
    fn config(&self) -> types::Config {
        let config = &self.0.network().config;
        let attributes = config.attributes.iter().map(|(name, value)| attribute(name, value)).collect();
        types::Config { name: self.0.name().as_str().into(), ipam: config.ipam.clone(), attributes }
    }

    fn definition_attributes(&self) -> Vec<types::Attribute> {
        attributes(&self.0.network().attributes)
    }

    fn pools(&self) -> Vec<types::Pool> {
        let pool = |pool: &tenure_types::Pool| types::Pool {
            name: pool.name.as_str().into(),
            supply: match pool.supply {
                Supply::Configuration => types::Supply::Configuration,
                Supply::Host => types::Supply::Host,
            },
            need: match pool.need {
                Need::Always => types::Need::Always,
                Need::Optional => types::Need::Optional,
            },
            attributes: attributes(&pool.attributes),
        };
        self.0.pools().iter().map(pool).collect()
    }

    fn pool_of(&self, address: &str) -> Option<u32> {
        u32::try_from(self.0.pool_of(address.parse().ok()?)?).ok()
    }

    fn range_of(&self, address: &str) -> Option<types::AddressRange> {
        self.0.locate(address.parse().ok()?).map(|(_, found)| range(found))
    }

    fn ranges(
        &self,
        pool: u32,
        labels: &[types::Attribute],
        start: u32,
        limit: u32,
    ) -> Vec<ledger::RangeView> {
        let labels = pairs(labels);
        let shelf = shelf(pool, &labels);
        let views = self.0.ranges(shelf.pool).filter(|view| shelf.has(view.range));
        let views = views.skip(count(start, usize::MAX));
        let capped = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let view = |view: RangeView<'_>| ledger::RangeView {
            range: range(view.range),
            state: if view.draining { ledger::RangeState::Draining } else { ledger::RangeState::Open },
            usage: ledger::Usage {
                total: view.range.size(),
                held: capped(view.held),
                cooling: capped(view.cooling),
            },
        };
        views.take(count(limit, LONGEST_TABLE)).map(view).collect()
    }

    fn standing_of(&self, address: &str) -> ledger::Standing {
        match address.parse().map_or(Standing::Outside, |address| self.0.standing(address)) {
            Standing::Free => ledger::Standing::Free,
            Standing::Held => ledger::Standing::Held,
            Standing::Cooling => ledger::Standing::Cooling,
            Standing::Reserved => ledger::Standing::Reserved,
            Standing::Draining => ledger::Standing::Draining,
            Standing::Quarantined => ledger::Standing::Other("quarantined".to_owned()),
            Standing::Outside => ledger::Standing::Outside,
        }
    }

    fn free(
        &self,
        pool: u32,
        labels: &[types::Attribute],
        after: Option<&str>,
        direction: &ledger::Direction,
        limit: u32,
    ) -> Vec<String> {
        let direction = match direction {
            ledger::Direction::Descending => Direction::Descending,
            ledger::Direction::Ascending | ledger::Direction::Other(_) => Direction::Ascending,
        };
        let after = after.and_then(|after| after.parse().ok());
        texts(&self.0.free(shelf(pool, &pairs(labels)), after, direction, count(limit, LONGEST_LIST)))
    }

    fn cooling(&self, pool: u32, labels: &[types::Attribute], limit: u32) -> Vec<String> {
        texts(&self.0.cooling(shelf(pool, &pairs(labels)), count(limit, LONGEST_LIST)))
    }

    fn last(&self, pool: u32, labels: &[types::Attribute]) -> Option<String> {
        self.0.last(shelf(pool, &pairs(labels))).map(|address| address.to_string())
    }

    fn usage_of(&self, pool: u32, labels: &[types::Attribute]) -> ledger::Usage {
        usage(self.0.usage(shelf(pool, &pairs(labels))))
    }

    fn usage_by(
        &self,
        pool: u32,
        labels: &[types::Attribute],
        name: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Vec<ledger::LabelUsage> {
        let values =
            self.0.usage_by(shelf(pool, &pairs(labels)), name, after).take(count(limit, LONGEST_TABLE));
        values.map(|(value, used)| ledger::LabelUsage { value: value.into(), usage: usage(used) }).collect()
    }

    fn count_of(&self, name: &str, value: &str) -> u32 {
        self.0.count(name, value)
    }

    fn last_of(&self, name: &str) -> Vec<ledger::Place> {
        let place = |(_, address): &(_, IpAddr)| {
            let pool = u32::try_from(self.0.pool_of(*address)?).ok()?;
            Some(ledger::Place { pool, address: address.to_string() })
        };
        self.0.last_of(name).iter().filter_map(place).collect()
    }
}

fn shelf<'a>(pool: u32, labels: &'a [(&'a str, &'a str)]) -> Shelf<'a> {
    Shelf::of(count(pool, usize::MAX), labels)
}

fn pairs(labels: &[types::Attribute]) -> Vec<(&str, &str)> {
    labels.iter().map(|label| (label.name.as_str(), label.value.as_str())).collect()
}

fn attribute(name: &str, value: &str) -> types::Attribute {
    types::Attribute { name: name.into(), value: value.into() }
}

fn attributes(attributes: &Attributes) -> Vec<types::Attribute> {
    attributes.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn range(range: &Range) -> types::AddressRange {
    types::AddressRange {
        name: range.name().as_str().into(),
        subnet: range.subnet().to_string(),
        first: range.first().to_string(),
        last: range.last().to_string(),
        gateway: range.gateway().map(|gateway| gateway.to_string()),
        prefix_length: range.prefix_length(),
        attributes: attributes(range.attributes()),
    }
}

fn usage(usage: Usage) -> ledger::Usage {
    ledger::Usage { total: usage.total, held: usage.held, cooling: usage.cooling }
}

fn texts(addresses: &[IpAddr]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}

fn count(number: u32, most: usize) -> usize {
    usize::try_from(number).unwrap_or(most).min(most)
}
