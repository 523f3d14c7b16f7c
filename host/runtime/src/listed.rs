//! The runtime's list of sandboxes, and the port to it.

use std::collections::HashMap;
use std::fmt::Debug;

use tenure_types::{Allocation, Error};

use crate::WitnessVerdict;

/// A sandbox in the list, in any state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSandbox {
    /// The sandbox's id, which CNI calls the container's.
    pub id: String,
    /// The uid of its pod; empty if the runtime names none.
    pub pod_uid: String,
    /// The time of its creation, in nanoseconds since 1970.
    pub created_at: i64,
}

/// The container runtime, as a witness of sandboxes.
#[tonic::async_trait]
pub trait SandboxList: Debug + Send + Sync {
    /// All sandboxes that the runtime knows, in one complete answer.
    ///
    /// # Errors
    /// `Unreachable` if the runtime cannot be queried.
    async fn list(&self) -> Result<Vec<ListedSandbox>, Error>;
}

/// One complete answer of the runtime.
#[derive(Debug, Default)]
pub(crate) struct ListedSandboxes {
    /// The uid of each sandbox's pod, by the sandbox's id; empty if the runtime names none.
    pods: HashMap<String, String>,
    /// The creation of each pod's newest sandbox, in nanoseconds since 1970, by the pod's uid.
    newest: HashMap<String, i64>,
}

impl ListedSandboxes {
    pub(crate) fn of(list: Vec<ListedSandbox>) -> Self {
        let mut listed = Self::default();
        for ListedSandbox { id, pod_uid, created_at } in list {
            if !pod_uid.is_empty() {
                let newest = listed.newest.entry(pod_uid.clone()).or_default();
                *newest = created_at.max(*newest);
            }
            listed.pods.insert(id, pod_uid);
        }
        listed
    }

    /// Whether the runtime lists a container.
    pub(crate) fn verdict(&self, container: &str) -> WitnessVerdict {
        match self.pods.contains_key(container) {
            true => WitnessVerdict::Present,
            false => WitnessVerdict::Absent,
        }
    }

    /// Whether the kubelet has replaced an allocation's sandbox: the runtime lists one of the same pod that was created after the
    /// allocation was last asked for, and does not list the allocation's own. A sandbox whose ADD is under way may not be listed yet, but
    /// nor is it older than a listed one of its pod.
    pub(crate) fn has_replaced(&self, held: &Allocation) -> bool {
        let Some((container, _)) = held.owner.attachment() else { return false };
        let newest = held.pod().and_then(|pod| self.newest.get(pod.uid.as_ref()));
        let asked_for =
            i64::try_from(held.requested_at.wall_ms).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        self.verdict(container.as_str()) == WitnessVerdict::Absent && newest.is_some_and(|at| *at > asked_for)
    }
}
