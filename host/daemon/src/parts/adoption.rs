//! Adopts a lost state once no pod that could have an address is left.

use std::sync::Arc;
use std::time::Duration;

use tenure_runtime::{Runtime, who_may_live};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Kind, Part};
use crate::config::Config;
use crate::node::Node;

/// How often to ask the runtime whether any pods are left.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// Asks the container runtime while the state is lost.
pub(crate) struct Adoption {
    node: Arc<Node>,
    runtime: Runtime,
    config: watch::Receiver<Arc<Config>>,
}

impl Adoption {
    pub(crate) fn build(node: Arc<Node>, runtime: Runtime, config: watch::Receiver<Arc<Config>>) -> Self {
        Self { node, runtime, config }
    }

    async fn ask(&self) {
        while self.node.state_seen.is_lost() {
            let exclusive = self.config.borrow().runtime.exclusive;
            match who_may_live(&self.runtime, exclusive).await {
                Some(why) => tracing::warn!(why, "cannot confirm the lost state yet"),
                None => {
                    if let Err(error) = self.node.adopt() {
                        tracing::error!(%error, "cannot clear the lost-state mark");
                    }
                }
            }
            sleep(ASK_AGAIN).await;
        }
    }
}

#[tonic::async_trait]
impl Part for Adoption {
    fn name(&self) -> &'static str {
        "adoption"
    }

    fn kind(&self) -> Kind {
        Kind::Finite
    }

    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        stop.run_until_cancelled(self.ask()).await;
        Ok(())
    }
}
