//! Networks as the ledger records them: configuration, pools, and the rules that apply to all pools.

use std::fmt;
use std::sync::Arc;

use crate::{Attributes, DefinedPool, Moment, NetworkName, PolicyName, Pool, PoolName, agreed};

/// A policy, identified by its content.
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

/// How a network treats recently freed addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cooling {
    /// Never handed out before the cooldown is over.
    #[default]
    Strict,
    /// Handed out before the cooldown is over if no other address is left (least recently freed first), if the caller
    /// requests the address, or if the owner's name had it last.
    Preferred,
}

/// The definition of a network, which a policy derives from its configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definition {
    /// The pools.
    pub pools: Vec<DefinedPool>,
    /// How freed addresses cool down.
    pub cooling: Cooling,
    /// Attributes that the policy stores to read again when it proposes.
    pub attributes: Attributes,
}

/// The source of a network's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Definer {
    /// A CNI call's configuration. A later call with another configuration redefines the network.
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

/// A network without its ranges and its policy, which are recorded by facts of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The name, which identifies it.
    pub name: NetworkName,
    /// The configuration that the definition was derived from: the `ipam` object and the host's attributes, as passed
    /// to the policy.
    pub config: Arc<NetworkConfig>,
    /// The pools, in the order of a grant's addresses.
    pub pools: Vec<Pool>,
    /// How freed addresses cool down.
    pub cooling: Cooling,
    /// Attributes that the policy stores to read again when it proposes.
    pub attributes: Attributes,
    /// The source of the definition.
    pub defined_by: Definer,
    /// The time of the last change.
    pub changed_at: Moment,
}

impl Network {
    /// The index of a pool.
    #[must_use]
    pub fn pool_named(&self, name: &PoolName) -> Option<usize> {
        self.pools.iter().position(|pool| pool.name == *name)
    }

    /// The cooldown that the definition asks for, in seconds; 0 if it asks for none.
    #[must_use]
    pub fn cooldown_seconds(&self) -> u32 {
        self.attributes.get(agreed::COOLDOWN_SECONDS).and_then(|seconds| seconds.parse().ok()).unwrap_or(0)
    }
}

/// A network's configuration, as passed to a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetworkConfig {
    /// The `ipam` object of the CNI configuration, as JSON text.
    pub ipam: String,
    /// Attributes added by the host; `wit/README.md` lists the names.
    pub attributes: Vec<(String, String)>,
}
