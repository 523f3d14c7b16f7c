//! The agent's settings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use tenure_leases::{MachineHash, Uid, UnknownWord};
use tenure_types::{BootId, NetworkName, NodeIdentity, PoolName};

/// The settings of an agent.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// The kubeconfig; `None`: a pod's service account.
    pub kubeconfig: Option<PathBuf>,
    /// The node's name, which is its Node's.
    pub node: String,
    /// The machine.
    pub machine: MachineHash,
    /// The running boot.
    pub boot: Uid,
    /// The pools of the cluster that each network uses.
    pub networks: BTreeMap<NetworkName, Vec<String>>,
    /// Free addresses of each pool and family to keep in advance.
    pub preallocation: u32,
    /// Seconds for which a block must be empty before it is offered.
    pub release_seconds: u32,
    /// The least time between two writes of the node's object.
    pub write_every: Duration,
    /// The seed of jitter and ids: another one for each start.
    pub seed: u64,
}

/// The address family of a pool, as the API server names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolFamily {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl PoolFamily {
    /// The family of a CIDR.
    #[must_use]
    pub fn of(cidr: ipnet::IpNet) -> Self {
        if cidr.addr().is_ipv4() { Self::Ipv4 } else { Self::Ipv6 }
    }

    /// The name in the API server.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        }
    }

    /// The end of the engine pool's name.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Ipv4 => ".v4",
            Self::Ipv6 => ".v6",
        }
    }
}

/// Splits the name of an engine pool into that of the cluster's pool and the family.
#[must_use]
pub(crate) fn cluster_pool(pool: &PoolName) -> Option<(&str, PoolFamily)> {
    let families = [PoolFamily::Ipv4, PoolFamily::Ipv6];
    families.into_iter().find_map(|family| Some((pool.as_str().strip_suffix(family.suffix())?, family)))
}

impl AgentSettings {
    /// The network that uses a pool of the cluster.
    #[must_use]
    pub fn network_of(&self, pool: &str) -> Option<&NetworkName> {
        self.networks.iter().find(|(_, pools)| pools.iter().any(|known| known == pool)).map(|(name, _)| name)
    }

    /// All pools of the cluster that the node uses.
    pub fn pools(&self) -> impl Iterator<Item = &str> {
        self.networks.values().flatten().map(String::as_str)
    }
}

/// The machine and the boot of a node.
///
/// # Errors
/// If the machine id, the system UUID or the boot id is missing, or is not what the API server would accept.
pub fn machine_of(identity: &NodeIdentity) -> Result<(MachineHash, Uid), UnknownWord> {
    let machine_id = identity.machine_id.as_deref().unwrap_or_default();
    let machine = MachineHash::of(machine_id, identity.system_uuid.as_deref().unwrap_or_default())?;
    Ok((machine, boot_of(&identity.boot)?))
}

/// A boot, as the API server names it.
///
/// # Errors
/// If it is not a boot id.
pub fn boot_of(boot: &BootId) -> Result<Uid, UnknownWord> {
    boot.0.to_ascii_lowercase().parse()
}
