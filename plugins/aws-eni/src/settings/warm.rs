//! Warm targets, beyond what is held: the four settings of a `warm` table, and which of them count.

use tenure_sdk::{ConfigError, Node};

use super::knobs::{KNOBS, keyed};
use super::value::Value;
use super::values::Values;

/// How the keys of these settings begin.
const GROUP: &str = "warm.";

/// The number of free addresses or ranges to keep, beyond what is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmTarget {
    /// Free addresses, and addresses in total.
    Addresses {
        /// WARM_IP_TARGET.
        warm: u32,
        /// MINIMUM_IP_TARGET.
        minimum: u32,
    },
    /// Sixteen addresses for each of so many prefixes.
    Prefixes(u32),
    /// The addresses of this number of whole interfaces.
    Interfaces(u32),
}

/// The settings of a `warm` table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warm {
    interfaces: u32,
    addresses: u32,
    minimum: u32,
    prefixes: u32,
}

impl Warm {
    /// The network's own.
    pub(super) fn of(values: &Values) -> Self {
        let count = |key| values.count(key).unwrap_or_default();
        Self {
            interfaces: count("warm.interfaces"),
            addresses: count("warm.addresses"),
            minimum: count("warm.minimum"),
            prefixes: count("warm.prefixes"),
        }
    }

    /// Reads a table that takes the place of the network's own: what it does not have is the default.
    ///
    /// # Errors
    /// For an unknown key, a wrong value, and a table without any.
    pub(super) fn read(table: &Node) -> Result<Self, ConfigError> {
        let entries = table.entries()?;
        if entries.is_empty() {
            let keys = KNOBS.iter().filter_map(|knob| knob.key?.strip_prefix(GROUP));
            let keys: Vec<_> = keys.collect();
            return Err(table.wrong(format!("must have one of: {}", keys.join(", "))));
        }
        for (name, node) in entries {
            if keyed(&format!("{GROUP}{}", name.to_ascii_lowercase())).is_none() {
                return Err(node.wrong("is not a setting of this policy"));
            }
        }
        let count = |name: &str| match (table.get(name)?, keyed(&format!("{GROUP}{name}"))) {
            (Some(node), _) => node.count(),
            (None, knob) => Ok(match knob.and_then(|knob| Value::default(knob.kind)) {
                Some(Value::Count(default)) => default,
                _ => 0,
            }),
        };
        Ok(Self {
            interfaces: count("interfaces")?,
            addresses: count("addresses")?,
            minimum: count("minimum")?,
            prefixes: count("prefixes")?,
        })
    }

    /// Chooses the target that counts, if IPv4 addresses come as prefixes or one by one.
    #[must_use]
    pub fn target(self, prefixes: bool) -> WarmTarget {
        let Self { interfaces, addresses, minimum, prefixes: whole } = self;
        match (addresses > 0 || minimum > 0, prefixes) {
            (true, _) => WarmTarget::Addresses { warm: addresses, minimum },
            (false, true) => WarmTarget::Prefixes(whole),
            (false, false) => WarmTarget::Interfaces(interfaces),
        }
    }
}
