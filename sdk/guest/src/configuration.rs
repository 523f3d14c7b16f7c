//! What a policy is defined by, and what it defines.

use crate::bindings::exports::tenure::ipam::network;
use crate::bindings::tenure::ipam::types;
use crate::{Node, Pool, Refusal};

/// A network's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The network's name.
    pub name: String,
    /// The `ipam` object of the CNI configuration, as JSON text.
    pub ipam: String,
    attributes: Vec<(String, String)>,
}

impl Config {
    /// Makes a configuration, as the host would.
    #[must_use]
    pub fn new(name: &str, ipam: &str, attributes: &[(&str, &str)]) -> Self {
        let attributes = attributes.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Self { name: name.into(), ipam: ipam.into(), attributes }
    }

    /// What the host adds under a name, such as `runtime-config.ip-ranges`.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        find(&self.attributes, name)
    }

    /// The `ipam` object, read.
    ///
    /// # Errors
    /// [`Refusal::InvalidConfig`] when it is not JSON.
    pub fn root(&self) -> Result<Node, Refusal> {
        Node::parse("ipam", &self.ipam)
    }
}

/// The value of a named attribute.
pub(crate) fn find<'a>(attributes: &'a [(String, String)], name: &str) -> Option<&'a str> {
    attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

pub(crate) fn attributes(attributes: Vec<types::Attribute>) -> Vec<(String, String)> {
    attributes.into_iter().map(|attribute| (attribute.name, attribute.value)).collect()
}

/// How an address that was freed a moment ago is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cooling {
    /// Never handed out before its time.
    Strict,
    /// Handed out before its time when nothing else is left.
    Preferred,
}

/// What a policy made of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Each grant has one address from each pool.
    pub pools: Vec<Pool>,
    /// How freed addresses cool.
    pub cooling: Cooling,
}

impl From<network::Config> for Config {
    fn from(config: network::Config) -> Self {
        Self { name: config.name, ipam: config.ipam, attributes: attributes(config.attributes) }
    }
}

impl From<Definition> for network::Definition {
    fn from(definition: Definition) -> Self {
        Self {
            pools: definition.pools.into_iter().map(types::Pool::from).collect(),
            cooling: match definition.cooling {
                Cooling::Strict => types::Cooling::Strict,
                Cooling::Preferred => types::Cooling::Preferred,
            },
            attributes: Vec::new(),
        }
    }
}
