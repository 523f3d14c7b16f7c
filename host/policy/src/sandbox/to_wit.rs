//! Converts the host's types to the interface's.

use tenure_ledger::{RangeView, Standing, Usage};
use tenure_types::{Attributes, Need, Pool, Range, Supply};

use super::bindings::tenure::ipam::{ledger, types};

pub(super) fn attribute(name: &str, value: &str) -> types::Attribute {
    types::Attribute { name: name.into(), value: value.into() }
}

pub(super) fn attributes(attributes: &Attributes) -> Vec<types::Attribute> {
    attributes.iter().map(|(name, value)| attribute(name, value)).collect()
}

impl From<&Pool> for types::Pool {
    fn from(pool: &Pool) -> Self {
        Self {
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
        }
    }
}

impl From<&Range> for types::AddressRange {
    fn from(range: &Range) -> Self {
        Self {
            name: range.name().as_str().into(),
            subnet: range.subnet().to_string(),
            first: range.first().to_string(),
            last: range.last().to_string(),
            gateway: range.gateway().map(|gateway| gateway.to_string()),
            prefix_length: range.prefix_length(),
            attributes: attributes(range.attributes()),
        }
    }
}

/// A range of the configuration.
pub(super) fn configured(range: tenure_sdk_config::Range) -> types::AddressRange {
    types::AddressRange {
        subnet: range.subnet.to_string(),
        first: range.first.to_string(),
        last: range.last.to_string(),
        gateway: range.gateway.map(|gateway| gateway.to_string()),
        prefix_length: range.prefix_length,
        attributes: range.attributes.iter().map(|(name, value)| attribute(name, value)).collect(),
        name: range.name,
    }
}

impl From<RangeView<'_>> for ledger::RangeView {
    fn from(view: RangeView<'_>) -> Self {
        let capped = |count| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            range: view.range.into(),
            state: if view.draining { ledger::RangeState::Draining } else { ledger::RangeState::Open },
            usage: ledger::Usage {
                total: view.range.size(),
                held: capped(view.held),
                cooling: capped(view.cooling),
            },
        }
    }
}

impl From<Usage> for ledger::Usage {
    fn from(usage: Usage) -> Self {
        Self { total: usage.total, held: usage.held, cooling: usage.cooling }
    }
}

impl From<Standing> for ledger::Standing {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Free => Self::Free,
            Standing::Held => Self::Held,
            Standing::Cooling => Self::Cooling,
            Standing::Reserved => Self::Reserved,
            Standing::Draining => Self::Draining,
            Standing::Quarantined => Self::Other("quarantined".to_owned()),
            Standing::Outside => Self::Outside,
        }
    }
}
