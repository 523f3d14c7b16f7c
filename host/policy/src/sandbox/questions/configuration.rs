//! Questions about the network's configuration.

use serde::Serialize;
use tenure_ledger::Book;
use tenure_sdk_config::{RUNTIME_RANGES, Texts};

use super::LedgerQuestion;
use crate::sandbox::bindings::tenure::ipam::types::{AddressRange, Attribute, Config, ConfigError};
use crate::sandbox::{question, to_wit};

/// The configuration.
#[derive(Debug, Serialize)]
pub(in crate::sandbox) struct Get {}

impl LedgerQuestion for Get {
    const FUNCTION: &'static str = "configuration.get";
    type Answer = Config;

    fn of_book(&self, book: &Book) -> Config {
        question::configuration(book.name(), &book.network().config)
    }

    fn of_configuration(&self, config: &Config) -> Config {
        config.clone()
    }
}

/// The attributes of the network's definition.
#[derive(Debug, Serialize)]
pub(in crate::sandbox) struct DefinitionAttributes {}

impl LedgerQuestion for DefinitionAttributes {
    const FUNCTION: &'static str = "configuration.definition-attributes";
    type Answer = Vec<Attribute>;

    fn of_book(&self, book: &Book) -> Vec<Attribute> {
        to_wit::attributes(&book.network().attributes)
    }

    fn of_configuration(&self, _: &Config) -> Vec<Attribute> {
        Vec::new()
    }
}

/// The ranges at a path of the configuration, as host-local reads them.
#[derive(Debug, Serialize)]
pub(in crate::sandbox) struct ConfiguredRanges {
    pub(in crate::sandbox) path: String,
}

impl ConfiguredRanges {
    fn read(&self, ipam: &str, runtime_ranges: Option<&str>) -> <Self as LedgerQuestion>::Answer {
        match tenure_sdk_config::read(Texts { ipam, runtime_ranges }, &self.path) {
            Ok(sets) => {
                Ok(sets.into_iter().map(|set| set.0.into_iter().map(to_wit::configured).collect()).collect())
            }
            Err(error) => {
                Err(ConfigError { path: error.path, message: error.message, attributes: Vec::new() })
            }
        }
    }
}

impl LedgerQuestion for ConfiguredRanges {
    const FUNCTION: &'static str = "configuration.ranges";
    type Answer = Result<Vec<Vec<AddressRange>>, ConfigError>;

    fn of_book(&self, book: &Book) -> Self::Answer {
        let config = &book.network().config;
        let runtime = config.attributes.iter().find(|(name, _)| name == RUNTIME_RANGES);
        self.read(&config.ipam, runtime.map(|(_, value)| value.as_str()))
    }

    fn of_configuration(&self, config: &Config) -> Self::Answer {
        let runtime = config.attributes.iter().find(|attribute| attribute.name == RUNTIME_RANGES);
        self.read(&config.ipam, runtime.map(|attribute| attribute.value.as_str()))
    }
}
