//! The imported functions, answered by the present call's stand-in.

use std::rc::Rc;

use super::{Host, host};

/// The stand-in, without which there is no answer.
#[expect(
    clippy::panic,
    reason = "the host's functions cannot fail, and only a test calls them without a host"
)]
fn asked() -> Rc<dyn Host> {
    host().unwrap_or_else(|| panic!("there is no host to ask: call the policy through tenure-testkit"))
}

pub(crate) mod ledger {
    use super::asked;
    use crate::bindings::tenure::ipam::types::{AddressRange, Attribute, Pool};

    pub(crate) use crate::bindings::tenure::ipam::ledger::{
        Direction, LabelUsage, Place, RangeState, RangeView, Standing, Usage,
    };

    pub(crate) fn pools() -> Vec<Pool> {
        asked().pools()
    }

    pub(crate) fn pool_named(name: &str) -> Option<u32> {
        asked().pool_named(name)
    }

    pub(crate) fn pool_of(address: &str) -> Option<u32> {
        asked().pool_of(address)
    }

    pub(crate) fn range_of(address: &str) -> Option<AddressRange> {
        asked().range_of(address)
    }

    pub(crate) fn ranges(pool: u32, labels: &[Attribute], start: u32, limit: u32) -> Vec<RangeView> {
        asked().ranges(pool, labels, start, limit)
    }

    pub(crate) fn standing_of(address: &str) -> Standing {
        asked().standing_of(address)
    }

    pub(crate) fn free(
        pool: u32,
        labels: &[Attribute],
        after: Option<&str>,
        direction: &Direction,
        limit: u32,
    ) -> Vec<String> {
        asked().free(pool, labels, after, direction, limit)
    }

    pub(crate) fn cooling(pool: u32, labels: &[Attribute], limit: u32) -> Vec<String> {
        asked().cooling(pool, labels, limit)
    }

    pub(crate) fn last(pool: u32, labels: &[Attribute]) -> Option<String> {
        asked().last(pool, labels)
    }

    pub(crate) fn usage_of(pool: u32, labels: &[Attribute]) -> Usage {
        asked().usage_of(pool, labels)
    }

    pub(crate) fn usage_by(
        pool: u32,
        labels: &[Attribute],
        name: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Vec<LabelUsage> {
        asked().usage_by(pool, labels, name, after, limit)
    }

    pub(crate) fn count_of(name: &str, value: &str) -> u32 {
        asked().count_of(name, value)
    }

    pub(crate) fn last_of(name: &str) -> Vec<Place> {
        asked().last_of(name)
    }
}

pub(crate) mod configuration {
    use super::asked;
    use crate::bindings::tenure::ipam::types::{AddressRange, Attribute, Config, ConfigError};

    pub(crate) fn get() -> Config {
        asked().config()
    }

    pub(crate) fn definition_attributes() -> Vec<Attribute> {
        asked().definition_attributes()
    }

    pub(crate) fn ranges(path: &str) -> Result<Vec<Vec<AddressRange>>, ConfigError> {
        asked().configured_ranges(path)
    }
}

pub(crate) mod log {
    use super::host;

    pub(crate) use crate::bindings::tenure::ipam::log::Level;

    /// A line of the log is nobody's answer, so it needs no host.
    pub(crate) fn write(level: &Level, message: &str) {
        match host() {
            Some(host) => host.log(level, message),
            None => eprintln!("{level:?}: {message}"),
        }
    }
}
