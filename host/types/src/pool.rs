//! Pools: what serves one need of a network, under a name that outlives its ranges.

use std::fmt;

use crate::{Attributes, PoolName, Range};

/// Who says which ranges a pool has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Supply {
    /// The network's configuration, by way of its policy's definition.
    #[default]
    Configuration,
    /// The host: a cloud interface's addresses, a leased block. They come, drain and go while addresses are held.
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

/// Which grants have an address of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Need {
    /// Each grant has one.
    #[default]
    Always,
    /// A grant has at most one: the policy chooses, for instance one of several zones.
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

/// A pool, without its ranges: these change more often than it does.
///
/// host-local calls a pool a range set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// What tells it apart in its network; its use and what it handed out last are kept by it.
    pub name: PoolName,
    /// Who says which ranges it has.
    pub supply: Supply,
    /// Which grants have an address of it.
    pub need: Need,
    /// What the policy says of it; each address that is handed out of it carries them.
    pub attributes: Attributes,
}

impl Pool {
    /// A pool that the configuration supplies, and of which each grant has an address.
    #[must_use]
    pub fn new(name: PoolName) -> Self {
        Self { name, supply: Supply::default(), need: Need::default(), attributes: Attributes::default() }
    }

    /// The same for the pool at an index, where nobody has a name for it: `0`, `1` and so on.
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
    /// The ranges that the configuration gives it, in the order in which they are used; none where the host supplies them.
    pub ranges: Vec<Range>,
}
