//! Changes of a network, as they are recorded: of an allocation only what a policy can ask.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use tenure_ledger::BookChange;
use tenure_types::{
    AgentName, Allocation, AssignedAddress, Attributes, ClaimName, ContainerId, Generation, InterfaceName,
    Moment, NetworkName, Owner, PodIdentity, PolicyStamp, PoolName, Sandbox, Source, agreed,
};

use super::UnusableView;

/// A change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::decisions) enum ViewedChange {
    /// An allocation was made.
    Held(ViewedAllocation),
    /// An allocation ended, at this time of the boot.
    Ended(ViewedAllocation, u64),
    /// Time has passed: the time of the boot, and the node's cooldown, in nanoseconds.
    Passed(u64, u64),
}

/// An allocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::decisions) struct ViewedAllocation {
    /// The agent and its name for the claim, or else the container and the interface.
    owner: ViewedOwner,
    /// The pod's namespace and name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod: Option<(String, String)>,
    addresses: Vec<ViewedAddress>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ViewedOwner {
    Attachment(String, String),
    Claim(String, String),
    Unknown(IpAddr),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum ViewedAddress {
    /// With its pool, if it has one.
    Single(IpAddr, Option<String>),
    Prefix(String, Option<String>),
}

impl From<&BookChange> for ViewedChange {
    fn from(change: &BookChange) -> Self {
        match change {
            BookChange::Held(made) => Self::Held(made.as_ref().into()),
            BookChange::Ended(ended, at) => Self::Ended(ended.as_ref().into(), at.boot_ns),
            BookChange::Passed { now, of_node } => {
                Self::Passed(now.boot_ns, u64::try_from(of_node.as_nanos()).unwrap_or(u64::MAX))
            }
        }
    }
}

impl From<&Allocation> for ViewedAllocation {
    fn from(allocation: &Allocation) -> Self {
        let owner = match &allocation.owner {
            Owner::Attachment { container, interface } => {
                ViewedOwner::Attachment(container.to_string(), interface.to_string())
            }
            Owner::Claim { agent, name } => ViewedOwner::Claim(agent.to_string(), name.to_string()),
            Owner::Unknown { address } => ViewedOwner::Unknown(*address),
        };
        let pod = allocation.pod().map(|pod| (pod.namespace.to_string(), pod.name.to_string()));
        let address = |assigned: &AssignedAddress| {
            let pool = assigned.source.pool.as_ref().map(ToString::to_string);
            match assigned.is_prefix() {
                true => ViewedAddress::Prefix(assigned.address.to_string(), pool),
                false => ViewedAddress::Single(assigned.ip(), pool),
            }
        };
        let addresses = allocation.addresses.iter().map(address).collect();
        let tags = allocation.tags.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { owner, pod, addresses, tags }
    }
}

impl ViewedChange {
    /// The change in a network's book.
    pub(in crate::decisions) fn read(
        &self,
        network: &NetworkName,
        policy: &Arc<PolicyStamp>,
    ) -> Result<BookChange, UnusableView> {
        let at = |boot_ns| Moment { boot_ns, wall_ms: 0 };
        let whose = |stored: &ViewedAllocation| stored.read(network, policy).map(Arc::new);
        Ok(match self {
            Self::Held(made) => BookChange::Held(whose(made)?),
            Self::Ended(ended, boot_ns) => BookChange::Ended(whose(ended)?, at(*boot_ns)),
            Self::Passed(now, of_node) => {
                BookChange::Passed { now: at(*now), of_node: Duration::from_nanos(*of_node) }
            }
        })
    }
}

impl ViewedAllocation {
    fn read(&self, network: &NetworkName, policy: &Arc<PolicyStamp>) -> Result<Allocation, UnusableView> {
        let pod = self.pod.as_ref().map(|(namespace, name)| PodIdentity {
            namespace: namespace.as_str().into(),
            name: name.as_str().into(),
            uid: "".into(),
        });
        let addresses = self.addresses.iter().map(ViewedAddress::read).collect::<Result<Vec<_>, _>>()?;
        Ok(Allocation {
            network: network.clone(),
            generation: Generation::default(),
            owner: self.owner.read()?,
            addresses: addresses.into(),
            sandbox: Sandbox { pod, ..Sandbox::default() },
            tags: Attributes::new(&self.tags).map_err(UnusableView::new)?,
            policy: Arc::clone(policy),
            origin: None,
            requested_at: Moment::default(),
            allocated_at: Moment::default(),
        })
    }
}

impl ViewedOwner {
    fn read(&self) -> Result<Owner, UnusableView> {
        Ok(match self {
            Self::Attachment(container, interface) => Owner::Attachment {
                container: ContainerId::new(container).map_err(UnusableView::new)?,
                interface: InterfaceName::new(interface).map_err(UnusableView::new)?,
            },
            Self::Claim(agent, name) => Owner::Claim {
                agent: AgentName::new(agent).map_err(UnusableView::new)?,
                name: ClaimName::new(name).map_err(UnusableView::new)?,
            },
            Self::Unknown(address) => Owner::Unknown { address: *address },
        })
    }
}

impl ViewedAddress {
    fn read(&self) -> Result<AssignedAddress, UnusableView> {
        let (address, pool, assigns) = match self {
            Self::Single(address, pool) => (IpNet::from(*address), pool, None),
            Self::Prefix(prefix, pool) => {
                let prefix = prefix.parse().map_err(UnusableView::new)?;
                (prefix, pool, Some((agreed::ASSIGNS, agreed::PREFIXES)))
            }
        };
        let pool = pool.as_deref().map(PoolName::new).transpose().map_err(UnusableView::new)?;
        let range_attributes = Attributes::new(assigns).map_err(UnusableView::new)?;
        let source = Arc::new(Source { pool, range_attributes, ..Source::default() });
        Ok(AssignedAddress { address, source, attributes: Attributes::default() })
    }
}
