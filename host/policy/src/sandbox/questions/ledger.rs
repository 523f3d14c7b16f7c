//! Questions about the ledger.

use std::net::IpAddr;

use serde::Serialize;
use tenure_ledger::{Book, Direction, Shelf};

use super::LedgerQuestion;
use super::labels::Labels;
use crate::sandbox::bindings::tenure::ipam::ledger;
use crate::sandbox::bindings::tenure::ipam::types::{AddressRange, Config, Pool};

/// The most addresses in one answer.
const LONGEST_LIST: usize = 1024;

/// The most ranges, or values of a label, in one answer: each is many times as long as an address.
const LONGEST_TABLE: usize = 256;

/// Declares a question: its function, fields and answer, how a book answers it, or else the empty network, and with how many labels it is looked
/// through for the answer.
macro_rules! question {
    (
        $(#[$doc:meta])*
        $name:ident = $function:literal { $($(#[$how:meta])* $field:ident: $kind:ty),* } -> $answer:ty,
        |$self:ident, $book:ident| $of_book:block,
        $empty:expr
        $(, looks_through: $labels:ident >= $least:literal)?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Serialize)]
        pub(in crate::sandbox) struct $name {
            $($(#[$how])* pub(in crate::sandbox) $field: $kind,)*
        }

        impl LedgerQuestion for $name {
            const FUNCTION: &'static str = $function;
            type Answer = $answer;

            $(fn looks_through(&self) -> bool {
                self.$labels.0.len() >= $least
            })?

            fn of_book(&$self, $book: &Book) -> $answer $of_book

            fn of_configuration(&self, _: &Config) -> $answer {
                $empty
            }
        }
    };
}

question! {
    /// The pools.
    Pools = "pools" {  } -> Vec<Pool>,
    |self, book| {
        book.pools().iter().map(Pool::from).collect()
    },
    Vec::new()
}

question! {
    /// The index of a pool.
    PoolNamed = "pool-named" { name: String } -> Option<u32>,
    |self, book| {
        let position = book.pools().iter().position(|pool| pool.name.as_str() == self.name);
        u32::try_from(position?).ok()
    },
    None
}

question! {
    /// The index of the pool that contains an address.
    PoolOf = "pool-of" { address: String } -> Option<u32>,
    |self, book| {
        u32::try_from(book.pool_of(self.address.parse().ok()?)?).ok()
    },
    None
}

question! {
    /// The range that contains an address.
    RangeOf = "range-of" { address: String } -> Option<AddressRange>,
    |self, book| {
        let (_, range) = book.locate(self.address.parse().ok()?)?;
        Some(range.into())
    },
    None
}

question! {
    /// Ranges of a pool.
    Ranges = "ranges" { pool: u32, label: Labels, start: u32, limit: u32 } -> Vec<ledger::RangeView>,
    |self, book| {
        let Some(labels) = self.label.pairs() else { return Vec::new() };
        let Some(shelf) = shelf(self.pool, &labels) else { return Vec::new() };
        let ranges = book.ranges(shelf.pool).filter(|view| shelf.has(view.range));
        let piece = ranges.skip(capped(self.start, usize::MAX)).take(capped(self.limit, LONGEST_TABLE));
        piece.map(ledger::RangeView::from).collect()
    },
    Vec::new(),
    looks_through: label >= 1
}

question! {
    /// The standing of an address.
    StandingOf = "standing-of" { address: String } -> ledger::Standing,
    |self, book| {
        match self.address.parse() {
            Ok(address) => book.standing(address).into(),
            Err(_) => ledger::Standing::Outside,
        }
    },
    ledger::Standing::Outside
}

question! {
    /// Free addresses.
    Free = "free" { pool: u32, label: Labels, after: Option<String>, direction: ledger::Direction, limit: u32 } -> Vec<String>,
    |self, book| {
        let Some(labels) = self.label.pairs() else { return Vec::new() };
        let Some(shelf) = shelf(self.pool, &labels) else { return Vec::new() };
        let after = self.after.as_ref().and_then(|after| after.parse().ok());
        let direction = match self.direction {
            ledger::Direction::Ascending | ledger::Direction::Other(_) => Direction::Ascending,
            ledger::Direction::Descending => Direction::Descending,
        };
        texts(&book.free(shelf, after, direction, capped(self.limit, LONGEST_LIST)))
    },
    Vec::new(),
    looks_through: label >= 2
}

question! {
    /// Addresses that are cooling down.
    Cooling = "cooling" { pool: u32, label: Labels, limit: u32 } -> Vec<String>,
    |self, book| {
        let Some(labels) = self.label.pairs() else { return Vec::new() };
        let Some(shelf) = shelf(self.pool, &labels) else { return Vec::new() };
        texts(&book.cooling(shelf, capped(self.limit, LONGEST_LIST)))
    },
    Vec::new(),
    looks_through: label >= 2
}

question! {
    /// The address that was handed out last.
    Last = "last" { pool: u32, label: Labels } -> Option<String>,
    |self, book| {
        Some(book.last(shelf(self.pool, &self.label.pairs()?)?)?.to_string())
    },
    None
}

question! {
    /// How much is in use.
    UsageOf = "usage-of" { pool: u32, label: Labels } -> ledger::Usage,
    |self, book| {
        let labels = self.label.pairs();
        let shelf = labels.as_ref().and_then(|labels| shelf(self.pool, labels));
        shelf.map(|shelf| book.usage(shelf)).unwrap_or_default().into()
    },
    tenure_ledger::Usage::default().into(),
    looks_through: label >= 2
}

question! {
    /// The usage by the values of a label.
    UsageBy = "usage-by" {
        pool: u32,
        #[serde(skip_serializing_if = "Labels::is_empty")]
        within: Labels,
        label: String,
        after: Option<String>,
        limit: u32
    } -> Vec<ledger::LabelUsage>,
    |self, book| {
        let Some(labels) = self.within.pairs() else { return Vec::new() };
        let Some(shelf) = shelf(self.pool, &labels) else { return Vec::new() };
        let values = book.usage_by(shelf, &self.label, self.after.as_deref());
        let values = values.take(capped(self.limit, LONGEST_TABLE));
        values.map(|(value, usage)| ledger::LabelUsage { value: value.into(), usage: usage.into() }).collect()
    },
    Vec::new(),
    looks_through: within >= 1
}

question! {
    /// The number of live allocations with a name and value.
    CountOf = "count-of" { name: String, value: String } -> u32,
    |self, book| {
        book.count(&self.name, &self.value)
    },
    0
}

question! {
    /// The last addresses of a name.
    LastOf = "last-of" { name: String } -> Vec<ledger::Place>,
    |self, book| {
        let place = |(_, address): &(_, IpAddr)| {
            let pool = u32::try_from(book.pool_of(*address)?).ok()?;
            Some(ledger::Place { pool, address: address.to_string() })
        };
        book.last_of(&self.name).iter().filter_map(place).collect()
    },
    Vec::new()
}

/// The ranges that a question is about; `None` for a pool that cannot exist.
fn shelf<'a>(pool: u32, labels: &'a [(&'a str, &'a str)]) -> Option<Shelf<'a>> {
    Some(Shelf::of(usize::try_from(pool).ok()?, labels))
}

fn capped(limit: u32, most: usize) -> usize {
    usize::try_from(limit).unwrap_or(most).min(most)
}

fn texts(addresses: &[IpAddr]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}
