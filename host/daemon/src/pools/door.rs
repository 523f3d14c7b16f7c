//! The addresses of claims that pods name, through the agent that leases blocks, whether or not it runs yet.

use std::sync::OnceLock;

use tenure_cluster::agent::{ClaimAddress, ClaimWait, ClaimingPod};
use tenure_cluster::pools::ClaimName;
use tokio::sync::watch;

use crate::cluster::ClusterAgent;

/// The agent's word about claims.
#[derive(Default)]
pub(crate) struct ClaimDoor(OnceLock<watch::Receiver<Option<ClusterAgent>>>);

impl ClaimDoor {
    /// Asks this agent from now on.
    pub(crate) fn leased_by(&self, agent: watch::Receiver<Option<ClusterAgent>>) {
        // The daemon is put together once.
        let _ = self.0.set(agent);
    }

    /// The addresses of a claim, once they are this node's.
    ///
    /// # Errors
    /// As the agent's, or if it does not run yet.
    pub(super) async fn addresses_of(
        &self,
        claim: &ClaimName,
        pod: &ClaimingPod,
    ) -> Result<Vec<ClaimAddress>, ClaimWait> {
        match self.agent() {
            Some(agent) => agent.addresses_of(claim, pod).await,
            None => Err(ClaimWait::Pending(format!(
                "the address of claim {claim} is not known: the API server cannot be reached yet"
            ))),
        }
    }

    /// The AddressPool of an AddressClaim.
    ///
    /// # Errors
    /// As the agent's, or if it does not run yet.
    pub(super) async fn pool_of(&self, claim: &ClaimName) -> Result<String, ClaimWait> {
        match self.agent() {
            Some(agent) => agent.pool_of(claim).await,
            None => Err(ClaimWait::Pending(format!(
                "the pool of claim {claim} is not known: the API server cannot be reached yet"
            ))),
        }
    }

    fn agent(&self) -> Option<ClusterAgent> {
        self.0.get().and_then(|agent| agent.borrow().clone())
    }
}
