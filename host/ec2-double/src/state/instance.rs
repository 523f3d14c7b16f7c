//! Instances: what runs the nodes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::limits::InstanceType;
use super::time::Time;

/// The state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The instance is starting.
    Pending,
    /// The instance is running.
    Running,
    /// On its way to stopped.
    Stopping,
    /// Stopped; it can be started again.
    Stopped,
    /// On its way to its end.
    ShuttingDown,
    /// The instance has been terminated.
    Terminated,
}

impl Phase {
    /// EC2's word and number for it.
    #[must_use]
    pub const fn word(self) -> (&'static str, u32) {
        match self {
            Self::Pending => ("pending", 0),
            Self::Running => ("running", 16),
            Self::ShuttingDown => ("shutting-down", 32),
            Self::Terminated => ("terminated", 48),
            Self::Stopping => ("stopping", 64),
            Self::Stopped => ("stopped", 80),
        }
    }

    /// Whether interfaces can be attached and detached.
    #[must_use]
    pub const fn takes_interfaces(self) -> bool {
        matches!(self, Self::Running | Self::Stopped)
    }
}

/// An instance.
#[derive(Debug, Clone, Serialize)]
pub struct Instance {
    /// The instance's identifier.
    pub id: String,
    /// The instance's type's limits.
    #[serde(serialize_with = "by_name")]
    pub kind: &'static InstanceType,
    /// The instance's availability zone.
    pub zone: String,
    /// The instance's primary interface.
    pub primary: String,
    /// The instance's tags.
    pub tags: BTreeMap<String, String>,
    /// The instance's state.
    pub phase: Phase,
    /// The launch time.
    pub launched: Time,
}

fn by_name<S: serde::Serializer>(kind: &&'static InstanceType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name)
}
