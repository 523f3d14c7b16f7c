//! An allocation: an owner's addresses, as the ledger holds them.

use std::fmt;
use std::sync::Arc;

use crate::{AssignedAddress, Attributes, Moment, NetworkName, Origin, Owner, Place, PolicyStamp};

/// The pod behind an attachment, as the kubelet names it in `CNI_ARGS`; for people and policies, never a key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodIdentity {
    /// `K8S_POD_NAMESPACE`; pods of one namespace share it.
    pub namespace: Arc<str>,
    /// `K8S_POD_NAME`.
    pub name: Box<str>,
    /// `K8S_POD_UID`; empty where the runtime does not send it.
    pub uid: Box<str>,
}

/// What an attachment runs in, as its runtime says. No other owner has one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sandbox {
    /// The pod, where known.
    pub pod: Option<PodIdentity>,
    /// The network namespace's path; empty where the runtime named none.
    pub netns: Box<str>,
    /// Where the daemon itself has seen that namespace, if it has; what it has never seen there cannot be found to be gone.
    pub netns_seen: Option<Place>,
}

impl Sandbox {
    /// Whether nothing is known of it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pod.is_none() && self.netns.is_empty() && self.netns_seen.is_none()
    }
}

/// Numbers a network's allocations in the order they were made, never reused: a late request names the one it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Generation(pub u64);

impl fmt::Display for Generation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// An owner's addresses.
///
/// A node holds very many of these, so what many have in common is shared and what few have is boxed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// The network that the addresses are of.
    pub network: NetworkName,
    /// Which allocation of the network this is.
    pub generation: Generation,
    /// Who owns them.
    pub owner: Owner,
    /// At most one address of each pool, in the order of the pools.
    pub addresses: Box<[AssignedAddress]>,
    /// What the owner runs in, where it is an attachment and something is known of it.
    pub sandbox: Option<Box<Sandbox>>,
    /// What it is counted by.
    pub tags: Attributes,
    /// The policy that proposed it.
    pub policy: Arc<PolicyStamp>,
    /// Where it was taken over from; `None` where a policy proposed it.
    pub origin: Option<Box<Origin>>,
    /// When the caller's last request for it began; a DEL that began before it does not mean this allocation.
    pub requested_at: Moment,
    /// When the ledger admitted it.
    pub allocated_at: Moment,
}

impl Allocation {
    /// The pod behind it, where known.
    #[must_use]
    pub fn pod(&self) -> Option<&PodIdentity> {
        self.sandbox.as_ref()?.pod.as_ref()
    }

    /// The network namespace that the runtime named; empty where it named none.
    #[must_use]
    pub fn netns(&self) -> &str {
        self.sandbox.as_ref().map_or("", |sandbox| &sandbox.netns)
    }

    /// Where the daemon has seen that namespace.
    #[must_use]
    pub fn netns_seen(&self) -> Option<Place> {
        self.sandbox.as_ref()?.netns_seen
    }

    /// What its owner is called from one life to the next: `namespace/name` of a pod, `agent/name` of a claim.
    #[must_use]
    pub fn lasting_name(&self) -> Option<String> {
        lasting_name(&self.owner, self.pod())
    }
}

/// What an owner is called from one life to the next.
pub(crate) fn lasting_name(owner: &Owner, pod: Option<&PodIdentity>) -> Option<String> {
    match (owner, pod) {
        (Owner::Claim { agent, name }, _) => Some(format!("{agent}/{name}")),
        (Owner::Attachment { .. }, Some(pod)) if !pod.name.is_empty() => {
            Some(format!("{}/{}", pod.namespace, pod.name))
        }
        _ => None,
    }
}
