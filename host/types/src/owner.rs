//! The owners of addresses. An owner is the key by which requests are ordered and repeats are recognised.

use std::fmt;
use std::net::IpAddr;

use crate::{AgentName, ClaimName, ContainerId, InterfaceName};

/// The owner of an address inside a network.
///
/// [`End`](crate::End) defines how the allocations of each kind end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// A container's interface, as named by a CNI runtime.
    Attachment {
        /// The container.
        container: ContainerId,
        /// The interface inside it.
        interface: InterfaceName,
    },
    /// An agent on the node that needs the address for itself, such as for a router or a health check.
    Claim {
        /// The agent.
        agent: AgentName,
        /// The agent's name for this address.
        name: ClaimName,
    },
    /// An owner without a known name: another IPAM's state shows that the address is in use, but not by whom.
    Unknown {
        /// The address, which is all that identifies such an owner.
        address: IpAddr,
    },
}

impl Owner {
    /// `attachment`, `claim` or `unknown`, as shown to operators and policies.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Attachment { .. } => "attachment",
            Self::Claim { .. } => "claim",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// The container and its interface, if the owner is an attachment.
    #[must_use]
    pub fn attachment(&self) -> Option<(&ContainerId, &InterfaceName)> {
        match self {
            Self::Attachment { container, interface } => Some((container, interface)),
            Self::Claim { .. } | Self::Unknown { .. } => None,
        }
    }

    /// The agent and the name of its claim, if the owner is a claim.
    #[must_use]
    pub fn claim(&self) -> Option<(&AgentName, &ClaimName)> {
        match self {
            Self::Claim { agent, name } => Some((agent, name)),
            Self::Attachment { .. } | Self::Unknown { .. } => None,
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attachment { container, interface } => write!(formatter, "{container}/{interface}"),
            Self::Claim { agent, name } => write!(formatter, "claim {name} of {agent}"),
            Self::Unknown { address } => write!(formatter, "the unknown owner of {address}"),
        }
    }
}
