//! Converts the interface's types to this crate's, and back.

use std::net::IpAddr;

use crate::bindings::tenure::ipam::types;
use crate::{
    Attributes, Config, ConfigError, Cooling, Definition, Need, PoolDefinition, Range, RangeSet, Supply,
};

pub(crate) fn attributes(attributes: Vec<types::Attribute>) -> Attributes {
    attributes.into_iter().map(|attribute| (attribute.name, attribute.value)).collect()
}

pub(crate) fn wit_attributes(attributes: Attributes) -> Vec<types::Attribute> {
    attributes.into_iter().map(|(name, value)| types::Attribute { name, value }).collect()
}

/// Drops ranges with addresses that do not parse; the host sends none.
pub(crate) fn range_set(ranges: Vec<types::AddressRange>) -> RangeSet {
    RangeSet(ranges.into_iter().filter_map(range).collect())
}

pub(crate) fn range(range: types::AddressRange) -> Option<Range> {
    Some(Range {
        name: range.name,
        subnet: range.subnet.parse().ok()?,
        first: range.first.parse().ok()?,
        last: range.last.parse().ok()?,
        gateway: match range.gateway {
            Some(gateway) => Some(gateway.parse().ok()?),
            None => None,
        },
        prefix_length: range.prefix_length,
        attributes: attributes(range.attributes),
    })
}

/// Drops addresses that do not parse; the host sends none.
pub(crate) fn addresses(texts: &[String]) -> Vec<IpAddr> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

impl From<Range> for types::AddressRange {
    fn from(range: Range) -> Self {
        Self {
            name: range.name,
            subnet: range.subnet.to_string(),
            first: range.first.to_string(),
            last: range.last.to_string(),
            gateway: range.gateway.map(|gateway| gateway.to_string()),
            prefix_length: range.prefix_length,
            attributes: wit_attributes(range.attributes),
        }
    }
}

impl From<types::Supply> for Supply {
    fn from(supply: types::Supply) -> Self {
        match supply {
            types::Supply::Configuration => Self::Configuration,
            types::Supply::Host => Self::Host,
            types::Supply::Other(name) => Self::Other(name),
        }
    }
}

impl From<Supply> for types::Supply {
    fn from(supply: Supply) -> Self {
        match supply {
            Supply::Configuration => Self::Configuration,
            Supply::Host => Self::Host,
            Supply::Other(name) => Self::Other(name),
        }
    }
}

impl From<types::Need> for Need {
    fn from(need: types::Need) -> Self {
        match need {
            types::Need::Always => Self::Always,
            types::Need::Optional => Self::Optional,
            types::Need::Other(name) => Self::Other(name),
        }
    }
}

impl From<Need> for types::Need {
    fn from(need: Need) -> Self {
        match need {
            Need::Always => Self::Always,
            Need::Optional => Self::Optional,
            Need::Other(name) => Self::Other(name),
        }
    }
}

impl From<PoolDefinition> for types::PoolDefinition {
    fn from(pool: PoolDefinition) -> Self {
        Self {
            name: pool.name,
            supply: pool.supply.into(),
            need: pool.need.into(),
            ranges: pool.ranges.0.into_iter().map(types::AddressRange::from).collect(),
            attributes: wit_attributes(pool.attributes),
        }
    }
}

impl From<types::Config> for Config {
    fn from(config: types::Config) -> Self {
        Self { name: config.name, ipam: config.ipam, attributes: attributes(config.attributes) }
    }
}

impl From<Definition> for types::Definition {
    fn from(definition: Definition) -> Self {
        Self {
            pools: definition.pools.into_iter().map(types::PoolDefinition::from).collect(),
            cooling: match definition.cooling {
                Cooling::Strict => types::Cooling::Strict,
                Cooling::Preferred => types::Cooling::Preferred,
            },
            attributes: wit_attributes(definition.attributes),
        }
    }
}

impl From<ConfigError> for types::ConfigError {
    fn from(error: ConfigError) -> Self {
        Self { path: error.path, message: error.message, attributes: Vec::new() }
    }
}
