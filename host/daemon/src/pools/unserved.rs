//! Claims that a pod names and no pool of the network serves: any other address would be a wrong one.

use tenure_cluster::agent::ClaimWait;
use tenure_cluster::pods::{KnownPodLabels as _, ObjectLabels};
use tenure_cluster::pools::{PoolSelectors, pool_rules};
use tenure_engine::Add;
use tenure_types::{Error, ErrorCode, PodIdentity, Result};

use super::PodContexts;
use super::claimed::claims_of;
use crate::config::Config;

impl PodContexts {
    /// The same without a call for the labels: those of a pod that the watch does not show are not known.
    pub(super) async fn expect_shown_served(&self, add: &Add, config: &Config) -> Result<()> {
        let Some(pod) = add.request.sandbox.pod.as_ref() else { return Ok(()) };
        let Some(labels) = self.door.known_labels(pod) else { return Ok(()) };
        self.expect_served(add, config, pod, &labels).await
    }

    /// Refuses a pod that names claims on a network without a pool for claims, unless another network of the node has the pool of the claim. The agent
    /// may not have been restarted since its network got such a pool.
    ///
    /// # Errors
    /// `PoolUnmatched` if a claim is of no other network of the node, and `ClaimPending` if that is not known.
    pub(super) async fn expect_served(
        &self,
        add: &Add,
        config: &Config,
        pod: &PodIdentity,
        labels: &ObjectLabels,
    ) -> Result<()> {
        let (network, networks) = (add.request.network.as_str(), &config.cluster.networks);
        if networks.is_empty() {
            return Ok(());
        }
        for claim in claims_of(add, pod, labels)? {
            let why = if claim.is_of_interface() {
                if !networks.contains_key(network) {
                    continue;
                }
                format!("network {network} has no pool for claims on this node")
            } else if !self.may_serve_claims(config) {
                "no network of this node has a pool for claims".to_owned()
            } else {
                let pool = self.claims.pool_of(&claim).await.map_err(|wait| {
                    let (ClaimWait::Pending(why) | ClaimWait::PreviousOwner(why)) = wait;
                    Error::new(ErrorCode::ClaimPending, why)
                })?;
                let has_pool = |pools: &Vec<String>| pools.contains(&pool);
                if networks.iter().any(|(name, pools)| name != network && has_pool(pools)) {
                    // Another interface of the pod gets it.
                    continue;
                }
                match networks.get(network).is_some_and(has_pool) {
                    true => format!("it is of AddressPool {pool}, which is not for claims"),
                    false => format!("it is of AddressPool {pool}, which no network of this node has"),
                }
            };
            let (namespace, name) = (&pod.namespace, &pod.name);
            let cause =
                format_args!("pod {namespace}/{name} names claim {claim}, which cannot be served: {why}");
            return Err(Error::new(ErrorCode::PoolUnmatched, cause));
        }
        Ok(())
    }

    /// Whether a pool of the node is for claims, or the cluster has not said yet what one is for.
    fn may_serve_claims(&self, config: &Config) -> bool {
        let pools: Vec<String> = config.cluster.networks.values().flatten().cloned().collect();
        let known = pool_rules(&self.engine.objects(), &pools);
        !known.unknown.is_empty() || known.rules.iter().any(PoolSelectors::is_for_claims)
    }
}
