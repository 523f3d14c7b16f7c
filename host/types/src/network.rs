//! A network as the ledger knows it: its policy, its configuration and what it may hand out.

use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Moment, NetworkName, PolicyName, Pool, Range};

/// Which policy, to the byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyStamp {
    /// The policy's name in the catalogue.
    pub name: PolicyName,
    /// The component's sha256, in lower-case hexadecimal.
    pub digest: Arc<str>,
}

impl std::fmt::Display for PolicyStamp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}@{}", self.name, self.digest.get(..12).unwrap_or(&self.digest))
    }
}

/// How a network treats an address that was freed a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cooling {
    /// Never handed out before its time.
    #[default]
    Strict,
    /// Handed out before its time when nothing else is left, least recently freed first.
    Preferred,
}

/// What a policy made of a network's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Definition {
    /// The pools; each grant has one address from each.
    pub pools: Vec<Pool>,
    /// How freed addresses cool.
    pub cooling: Cooling,
}

impl Definition {
    /// The pool and range that an address lies in.
    #[must_use]
    pub fn locate(&self, address: IpAddr) -> Option<(usize, &Range)> {
        self.pools.iter().enumerate().find_map(|(index, pool)| Some((index, pool.range_of(address)?)))
    }
}

/// A network: created on first use from its configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// The name that tells it apart.
    pub name: NetworkName,
    /// The policy that last defined it.
    pub policy: PolicyStamp,
    /// Whether an operator chose the policy; then it wins over the configuration's `policy` key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub activated: bool,
    /// What the definition was made from: the `ipam` object and the host's attributes, as the policy got them.
    pub config: NetworkConfig,
    /// What may be handed out.
    pub definition: Definition,
    /// When it became what it is; `None` in the first checkpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Moment>,
    /// Whether the import that made it has not ended: addresses that live may be missing, so nobody new gets one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub importing: bool,
}

/// A network's configuration as a policy gets it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NetworkConfig {
    /// The `ipam` object of the CNI configuration, as JSON text.
    pub ipam: String,
    /// What the host adds, by name; see `wit/README.md` for the names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<(String, String)>,
}
