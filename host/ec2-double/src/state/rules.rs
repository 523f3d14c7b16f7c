//! How long things take, and which of AWS's ways of refusing is used.

use serde::{Deserialize, Serialize};

/// How long changes take, in milliseconds. The defaults are ordinary times of EC2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timing {
    /// From Create to `available`.
    pub create_ms: u64,
    /// From Attach to `attached`.
    pub attach_ms: u64,
    /// From Detach to `available`.
    pub detach_ms: u64,
    /// Until an address that Assign takes from another interface has moved.
    pub move_ms: u64,
    /// Until an instance is running.
    pub start_ms: u64,
    /// Until an instance is stopped.
    pub stop_ms: u64,
    /// Until an instance is terminated.
    pub terminate_ms: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            create_ms: 500,
            attach_ms: 2000,
            detach_ms: 5000,
            move_ms: 2000,
            start_ms: 5000,
            stop_ms: 10_000,
            terminate_ms: 10_000,
        }
    }
}

/// How EC2 says that a subnet has too few addresses; both are seen in the field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhaustion {
    /// `InsufficientFreeAddressesInSubnet`.
    #[default]
    Code,
    /// `InvalidParameterValue`, with a message to tell it by.
    Message,
}

/// The quotas and rules of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Network interfaces in the region.
    pub interfaces: usize,
    /// How too few addresses are said.
    pub exhaustion: Exhaustion,
    /// Whether calls take tokens from the account's buckets.
    pub throttling: bool,
    /// Whether IMDS drops requests beyond 1,024 packets a second.
    pub imds_packets: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { interfaces: 5000, exhaustion: Exhaustion::Code, throttling: true, imds_packets: false }
    }
}
