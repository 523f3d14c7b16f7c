//! Pools: sets of addresses for one purpose within a network, under a name that outlives their ranges.

use std::fmt;

use crate::{Attributes, PoolName, Range};

/// The supplier of a pool's ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Supply {
    /// The network's configuration, through its policy's definition.
    #[default]
    Configuration,
    /// The host, for example from a cloud interface or a leased block. Such ranges are added, drained and removed
    /// while addresses are held.
    Host,
}

impl Supply {
    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for Supply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Which grants have an address from a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Need {
    /// Every grant has one.
    #[default]
    Always,
    /// A grant has at most one; the policy chooses, for instance one of several zones.
    Optional,
}

impl Need {
    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Optional => "optional",
        }
    }
}

/// A pool without its ranges, which change more often.
///
/// host-local calls a pool a range set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// The name, which identifies it within its network. Its usage and its last address are tracked by name.
    pub name: PoolName,
    /// The supplier of the pool's ranges.
    pub supply: Supply,
    /// Which grants have an address from it.
    pub need: Need,
    /// The policy's attributes; each address handed out from the pool carries them.
    pub attributes: Attributes,
}

impl Pool {
    /// A pool that the configuration supplies and that every grant has an address from.
    #[must_use]
    pub fn new(name: PoolName) -> Self {
        Self { name, supply: Supply::default(), need: Need::default(), attributes: Attributes::default() }
    }

    /// As [`new`](Self::new), for a pool without a name; its index becomes the name: `0`, `1` and so on.
    #[must_use]
    pub fn numbered(index: usize) -> Self {
        Self::new(PoolName::plain(&index.to_string()))
    }
}

/// A pool as a policy defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedPool {
    /// The pool.
    pub pool: Pool,
    /// The pool's configured ranges, in the order in which they are used; empty if the host supplies them.
    pub ranges: Vec<Range>,
}
