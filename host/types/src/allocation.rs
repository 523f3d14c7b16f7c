//! Allocations: an owner's addresses, as the ledger records them.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::{AssignedAddress, Attributes, Moment, NetworkName, Origin, Owner, Place, PolicyStamp};

/// The pod of an attachment, as the kubelet names it in `CNI_ARGS`. For people and policies; never a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PodIdentity {
    /// `K8S_POD_NAMESPACE`; shared by the pods of a namespace.
    pub namespace: Arc<str>,
    /// `K8S_POD_NAME`.
    pub name: Box<str>,
    /// `K8S_POD_UID`; empty if the runtime does not send it.
    pub uid: Box<str>,
}

/// The link of an attachment, where the host makes it and not another plugin: a veth pair from the node into the pod.
///
/// Recorded with the allocation, so that only the owner of an address has its link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The name of the host's end.
    pub host: Box<str>,
    /// The MTU of both ends, in bytes.
    pub mtu: u32,
}

/// The sandbox of an attachment, as reported by its runtime, and its link. No other kind of owner has one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sandbox {
    /// The pod, if known.
    pub pod: Option<PodIdentity>,
    /// The network namespace's path; empty if the runtime named none.
    pub netns: Box<str>,
    /// The place in which the daemon itself saw that namespace, if it did. A namespace that it never saw cannot be
    /// found to be gone.
    pub netns_seen: Option<Place>,
    /// The link that the host makes; `None` if another plugin makes one. Boxed, because few nodes have any.
    pub link: Option<Box<Link>>,
}

/// An allocation's number within its network. Numbers ascend in the order of allocation and are never reused, so a
/// late request can name exactly the allocation that it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Generation(pub u64);

impl fmt::Display for Generation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// An owner's addresses.
///
/// A node holds very many of these: most have one address and a sandbox, so these are stored in place; common values
/// are shared, and rare ones are boxed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// The network of the addresses.
    pub network: NetworkName,
    /// The allocation's number within the network.
    pub generation: Generation,
    /// The owner.
    pub owner: Owner,
    /// The addresses: at most one from each pool, in the order of the pools.
    pub addresses: SmallVec<[AssignedAddress; 1]>,
    /// The sandbox of an attachment; empty for other owners and where nothing is known.
    pub sandbox: Sandbox,
    /// The tags, by which allocations are counted.
    pub tags: Attributes,
    /// The policy that proposed it.
    pub policy: Arc<PolicyStamp>,
    /// The origin of an imported address; `None` if a policy proposed it.
    pub origin: Option<Box<Origin>>,
    /// The start of the caller's latest request for it; a DEL that began earlier does not apply to this allocation.
    pub requested_at: Moment,
    /// The time at which the ledger admitted it.
    pub allocated_at: Moment,
}

impl Allocation {
    /// The pod, if known.
    #[must_use]
    pub fn pod(&self) -> Option<&PodIdentity> {
        self.sandbox.pod.as_ref()
    }

    /// The network namespace that the runtime named; empty if it named none.
    #[must_use]
    pub fn netns(&self) -> &str {
        &self.sandbox.netns
    }

    /// The link that the host makes for it.
    #[must_use]
    pub fn link(&self) -> Option<&Link> {
        self.sandbox.link.as_deref()
    }

    /// The place in which the daemon saw that namespace.
    #[must_use]
    pub fn netns_seen(&self) -> Option<Place> {
        self.sandbox.netns_seen
    }

    /// The owner's lasting name, which outlives its allocations: `namespace/name` of a pod, or `agent/name` of a claim.
    #[must_use]
    pub fn lasting_name(&self) -> Option<String> {
        lasting_name(&self.owner, self.pod())
    }
}

/// The lasting name of an owner.
pub(crate) fn lasting_name(owner: &Owner, pod: Option<&PodIdentity>) -> Option<String> {
    match (owner, pod) {
        (Owner::Claim { agent, name }, _) => Some(format!("{agent}/{name}")),
        (Owner::Attachment { .. }, Some(pod)) if !pod.name.is_empty() => {
            Some(format!("{}/{}", pod.namespace, pod.name))
        }
        _ => None,
    }
}
