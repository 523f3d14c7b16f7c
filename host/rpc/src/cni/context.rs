//! The port to what a cluster says about the pod of an ADD.

use std::sync::Arc;

use tenure_engine::Add;
use tenure_types::Result;

use super::CniService;

/// Looks up the facts about an ADD that are not the node's own: labels and annotations, and the pools that follow from them.
#[tonic::async_trait]
pub trait RequestContexts: Send + Sync {
    /// Adds the facts to an ADD, and requests the addresses of the claims that its pod names. An owner that has its addresses already needs none.
    ///
    /// # Errors
    /// `AmbiguousPool` and `PoolUnmatched` if no pool can be chosen; `PodUnread` if the labels that decide are not known; `ClaimPending` and
    /// `WaitingForPreviousOwner` if the address of a claim is not this node's yet.
    async fn complete(&self, add: &mut Add) -> Result<()>;
}

impl CniService {
    /// The same service, which adds these facts to each ADD.
    #[must_use]
    pub fn with_contexts(mut self, contexts: Arc<dyn RequestContexts>) -> Self {
        self.contexts = Some(contexts);
        self
    }
}
