//! A network as the ledger knows it: its configuration, its pools and the rules that hold for all of them.

use std::fmt;
use std::sync::Arc;

use crate::{Attributes, DefinedPool, Moment, NetworkName, PolicyName, Pool, PoolName};

/// Which policy, to the byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyStamp {
    /// The policy's name in the catalogue.
    pub name: PolicyName,
    /// The component's sha256, in lower-case hexadecimal.
    pub digest: Arc<str>,
}

impl fmt::Display for PolicyStamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.name, self.digest.get(..12).unwrap_or(&self.digest))
    }
}

/// How a network treats an address that was freed a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cooling {
    /// Never handed out before its time.
    #[default]
    Strict,
    /// Handed out before its time when nothing else is left, least recently freed first.
    Preferred,
}

/// What a policy made of a network's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definition {
    /// The pools.
    pub pools: Vec<DefinedPool>,
    /// How freed addresses cool.
    pub cooling: Cooling,
    /// What the policy wants to read again when it proposes.
    pub attributes: Attributes,
}

/// By whose word a network is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Definer {
    /// A CNI call's configuration: the next call with another configuration changes it.
    #[default]
    Request,
    /// The daemon's own configuration.
    Configuration,
    /// An operator.
    Operator,
}

impl Definer {
    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Configuration => "configuration",
            Self::Operator => "operator",
        }
    }
}

/// A network, without its ranges and without its policy: these have facts of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The name that tells it apart.
    pub name: NetworkName,
    /// What the definition was made from: the `ipam` object and the host's attributes, as the policy got them.
    pub config: Arc<NetworkConfig>,
    /// The pools, in the order in which a grant has their addresses.
    pub pools: Vec<Pool>,
    /// How freed addresses cool.
    pub cooling: Cooling,
    /// What its policy wants to read again when it proposes.
    pub attributes: Attributes,
    /// By whose word it is what it is.
    pub defined_by: Definer,
    /// When it became what it is.
    pub changed_at: Moment,
}

impl Network {
    /// The index of a pool.
    #[must_use]
    pub fn pool_named(&self, name: &PoolName) -> Option<usize> {
        self.pools.iter().position(|pool| pool.name == *name)
    }
}

/// A network's configuration as a policy gets it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetworkConfig {
    /// The `ipam` object of the CNI configuration, as JSON text.
    pub ipam: String,
    /// What the host adds, by name; see `wit/README.md` for the names.
    pub attributes: Vec<(String, String)>,
}
