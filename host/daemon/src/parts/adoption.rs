//! Adopts a lost state once no pod that could have an address is left.

use std::sync::Arc;
use std::time::Duration;

use tenure_runtime::{Runtime, who_may_live};
use tenure_supervise::Interruptible;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::config::Config;
use crate::node::DaemonNode;

/// How often to ask the runtime whether any pods are left.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// Asks the container runtime while the state is lost.
pub(crate) struct AdoptionPart {
    node: Arc<DaemonNode>,
    runtime: Runtime,
    config: watch::Receiver<Arc<Config>>,
    /// Whether the claims of agents outlived the state.
    knows_claims: bool,
}

impl AdoptionPart {
    pub(crate) fn build(
        node: Arc<DaemonNode>,
        runtime: Runtime,
        config: watch::Receiver<Arc<Config>>,
        knows_claims: bool,
    ) -> Self {
        Self { node, runtime, config, knows_claims }
    }

    /// Why somebody may still use an address that the ledger does not know.
    async fn who_may_live(&self) -> Option<String> {
        let (exclusive, has_agents) = {
            let config = self.config.borrow();
            (config.runtime.exclusive, !config.agents.is_empty())
        };
        // No runtime knows of an agent's addresses.
        if has_agents && !self.knows_claims {
            return Some("agents may use addresses, and their claims were lost with the state".to_owned());
        }
        who_may_live(&self.runtime, exclusive).await
    }
}

impl Interruptible for AdoptionPart {
    async fn work(&mut self) {
        while self.node.state_seen.is_lost() {
            match self.who_may_live().await {
                Some(why) => tracing::warn!(why, "cannot confirm the lost state yet"),
                None => {
                    if let Err(error) = self.node.adopt().await {
                        tracing::error!(%error, "cannot clear the lost-state mark");
                    }
                }
            }
            sleep(ASK_AGAIN).await;
        }
    }
}
