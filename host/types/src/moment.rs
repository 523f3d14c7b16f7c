//! Points in time as the ledger keeps them.

use serde::{Deserialize, Serialize};

/// A point in time: what the host decides by, and what a person reads.
///
/// Decisions compare `boot_ms` only, and only within one boot: `CLOCK_BOOTTIME` counts through suspend and
/// no clock jump moves it. `wall_ms` is for people and never compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds of `CLOCK_BOOTTIME`.
    pub boot_ms: u64,
    /// Milliseconds since the Unix epoch.
    pub wall_ms: u64,
}

/// The kernel's random id of the running boot, `/proc/sys/kernel/random/boot_id`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootId(pub String);
