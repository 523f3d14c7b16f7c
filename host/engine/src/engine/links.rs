//! The links of pods.

use std::sync::Arc;

use tenure_types::{Allocation, Link, NetworkName, Owner, PodIdentity, Result};

use super::Engine;

impl Engine {
    /// The link to ask for in an attachment's request, with this MTU in bytes if its caller asks for one.
    #[must_use]
    pub fn link(
        &self,
        network: &NetworkName,
        owner: &Owner,
        pod: Option<&PodIdentity>,
        mtu: Option<u32>,
    ) -> Link {
        self.links.link(network, owner, pod, mtu)
    }

    /// Whether a link could be made now.
    ///
    /// # Errors
    /// `Unavailable` when it could not.
    pub fn status_of_links(&self) -> Result<()> {
        self.links.status_of_links()
    }

    /// The allocations that have a link, in the order in which they were made. Of those of one pod that name the same link, such as
    /// after its sandbox was replaced, only the latest has it; of several pods, the first.
    #[must_use]
    pub fn linked(&self) -> Vec<Arc<Allocation>> {
        self.links.linked()
    }

    /// Makes every link whole that an allocation has and the kernel lacks, as after a crash. A pod whose network namespace is gone
    /// has no link any more, and keeps its address until its DEL.
    pub async fn restore_links(&self) {
        self.links.restore_links().await;
    }

    /// Removes the links of allocations that have ended. Returns how many.
    ///
    /// While the state is not known, nothing is removed: the allocation may only be forgotten.
    ///
    /// # Errors
    /// `LinkFailed` and `LinkForbidden`; the rest is removed all the same.
    pub async fn sweep_links(&self) -> Result<usize> {
        self.links.sweep_links().await
    }

    /// Waits until an allocation may have ended without its link.
    pub async fn unlinked(&self) {
        self.links.unlinked().await;
    }
}
