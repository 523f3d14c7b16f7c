//! Who owns an address, and the allocation that says so.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{AssignedAddress, ContainerId, InterfaceName, Moment, NetworkName, Origin, Place, PolicyStamp};

/// Who owns an address inside a network: the key that a request is ordered and repeated by.
///
/// What ends the allocation of which kind is in [`End`](crate::End).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", try_from = "Fields")]
pub enum Owner {
    /// A container's interface, as a CNI runtime names it.
    Attachment {
        /// The container.
        container: ContainerId,
        /// The interface inside it.
        interface: InterfaceName,
    },
    /// Somebody whom nobody can name: another IPAM's state says that the address is in use, and not by whom.
    Unknown {
        /// The address, since nothing else tells such an owner apart.
        address: IpAddr,
    },
}

impl Owner {
    /// `attachment` or `unknown`, as operators read it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Attachment { .. } => "attachment",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// The container and its interface, where that is what the owner is.
    #[must_use]
    pub fn attachment(&self) -> Option<(&ContainerId, &InterfaceName)> {
        match self {
            Self::Attachment { container, interface } => Some((container, interface)),
            Self::Unknown { .. } => None,
        }
    }
}

/// An owner as it is read. A tagged enum would be copied field by field before it is known which kind it is, and a daemon
/// reads all owners before it serves.
#[derive(Deserialize)]
struct Fields {
    kind: Kind,
    container: Option<ContainerId>,
    interface: Option<InterfaceName>,
    address: Option<IpAddr>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Attachment,
    Unknown,
}

impl TryFrom<Fields> for Owner {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<Self, Self::Error> {
        match (fields.kind, fields.container, fields.interface, fields.address) {
            (Kind::Attachment, Some(container), Some(interface), None) => {
                Ok(Self::Attachment { container, interface })
            }
            (Kind::Unknown, None, None, Some(address)) => Ok(Self::Unknown { address }),
            (Kind::Attachment, ..) => Err("an attachment is a container and an interface"),
            (Kind::Unknown, ..) => Err("an unknown owner is an address"),
        }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Attachment { container, interface } => write!(formatter, "{container}/{interface}"),
            Self::Unknown { address } => write!(formatter, "the unknown owner of {address}"),
        }
    }
}

/// The pod behind an attachment, as the kubelet names it in `CNI_ARGS`; for people and policies, never a key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PodIdentity {
    /// `K8S_POD_NAMESPACE`.
    pub namespace: String,
    /// `K8S_POD_NAME`.
    pub name: String,
    /// `K8S_POD_UID`; empty where the runtime does not send it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// Numbers a network's allocations in the order they were made, never reused: a late request names the one it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub u64);

impl std::fmt::Display for Generation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

/// An owner's addresses, as the ledger holds them and the checkpoint keeps them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// The network that the addresses are of.
    pub network: NetworkName,
    /// Which allocation of the network this is.
    pub generation: Generation,
    /// Who owns them.
    pub owner: Owner,
    /// One address for each pool.
    pub addresses: Vec<AssignedAddress>,
    /// The pod behind it, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodIdentity>,
    /// The network namespace that the runtime named; empty where it named none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub netns: String,
    /// Where the daemon itself has seen that namespace, if it has; what it has never seen there cannot be found to be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netns_seen: Option<Place>,
    /// The policy that proposed it.
    pub policy: PolicyStamp,
    /// Where it was taken over from; `None` where a policy proposed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
    /// When the caller's last request for it began; a DEL that began before it does not mean this allocation.
    pub requested_at: Moment,
    /// When the ledger admitted it.
    pub allocated_at: Moment,
}
