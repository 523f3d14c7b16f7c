//! Why an effect must not begin.

use std::fmt;

use tenure_types::{EffectKind, IntentId, PoolName, RangeName};

/// The target of an effect: the attribute that names it, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectTarget {
    /// The attribute, such as `block`.
    pub label: &'static str,
    /// The name.
    pub name: String,
}

/// Why an effect must not begin. A wing that answers a handshake tells its reasons apart; its text is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Attachments, or owners that nobody knows, hold addresses of the target.
    InUse {
        /// How many addresses.
        addresses: u64,
        /// The target.
        target: EffectTarget,
    },
    /// Agents' claims hold addresses of the target: they are promised for as long as the agent wants them, reboots included.
    Claimed {
        /// How many addresses.
        addresses: u64,
        /// The target.
        target: EffectTarget,
    },
    /// Addresses of the target are in quarantine, and nobody holds one.
    Quarantined {
        /// How many addresses.
        addresses: u64,
        /// The target.
        target: EffectTarget,
    },
    /// Addresses of the target cool down.
    Cooling {
        /// How many addresses.
        addresses: u64,
        /// The target.
        target: EffectTarget,
    },
    /// An open intent does something to the target.
    UnderWay {
        /// The intent.
        by: IntentId,
        /// Kind of that effect; `None` if it takes a range of the target on the way.
        kind: Option<EffectKind>,
        /// The target.
        target: EffectTarget,
    },
    /// The effect names no target that could be taken, or none that exists.
    Unknown(String),
    /// The configuration supplies the range, so that the host cannot take it.
    Configured {
        /// The range.
        range: RangeName,
        /// Pool of the range.
        pool: PoolName,
    },
    /// The wing does not allow it.
    Outside(String),
}

impl fmt::Display for EffectTarget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.label, self.name)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { addresses, target } => write!(out, "{addresses} addresses of {target} have owners"),
            Self::Claimed { addresses, target } => {
                write!(out, "{addresses} addresses of {target} are promised to agents' claims")
            }
            Self::Quarantined { addresses, target } => {
                write!(out, "{addresses} addresses of {target} are in quarantine")
            }
            Self::Cooling { addresses, target } => {
                write!(out, "{addresses} addresses of {target} are cooling")
            }
            Self::UnderWay { by, kind: Some(kind), target } => {
                write!(out, "{} of {} is under way as {by}", kind.name(), target.name)
            }
            Self::UnderWay { by, kind: None, target } => write!(out, "{target} is taken by {by} already"),
            Self::Configured { range, pool } => {
                write!(out, "range {range} of pool {pool} is the configuration's")
            }
            Self::Unknown(why) | Self::Outside(why) => out.write_str(why),
        }
    }
}
