//! Who owns an address: the key that a request is ordered and repeated by.

use std::fmt;
use std::net::IpAddr;

use crate::{AgentName, ClaimName, ContainerId, InterfaceName};

/// Who owns an address inside a network.
///
/// What ends the allocation of which kind is in [`End`](crate::End).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// A container's interface, as a CNI runtime names it.
    Attachment {
        /// The container.
        container: ContainerId,
        /// The interface inside it.
        interface: InterfaceName,
    },
    /// An agent that runs on the node and needs the address for itself: a router's, a health check's.
    Claim {
        /// The agent.
        agent: AgentName,
        /// What it calls this address.
        name: ClaimName,
    },
    /// Somebody whom nobody can name: another IPAM's state says that the address is in use, and not by whom.
    Unknown {
        /// The address, since nothing else tells such an owner apart.
        address: IpAddr,
    },
}

impl Owner {
    /// `attachment`, `claim` or `unknown`, as operators and policies read it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Attachment { .. } => "attachment",
            Self::Claim { .. } => "claim",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// The container and its interface, where that is what the owner is.
    #[must_use]
    pub fn attachment(&self) -> Option<(&ContainerId, &InterfaceName)> {
        match self {
            Self::Attachment { container, interface } => Some((container, interface)),
            Self::Claim { .. } | Self::Unknown { .. } => None,
        }
    }

    /// The agent and the name of its claim, where that is what the owner is.
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
