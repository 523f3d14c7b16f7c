//! Recorded decisions of policies: their writer, and the removal of those of networks that are gone.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tenure_engine::Engine;
use tenure_policy::decisions::DecisionWriter;
use tenure_supervise::Part;
use tenure_types::{ConditionName, NetworkName};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::config::Config;

/// How often to look for decisions of networks that are gone.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Writes what is recorded, on a thread of its own. The daemon serves without it.
pub(crate) struct DecisionsPart {
    writer: Arc<DecisionWriter>,
    engine: Arc<Engine>,
    config: watch::Receiver<Arc<Config>>,
}

impl DecisionsPart {
    pub(crate) fn build(
        writer: Arc<DecisionWriter>,
        engine: Arc<Engine>,
        config: watch::Receiver<Arc<Config>>,
    ) -> Self {
        Self { writer, engine, config }
    }

    /// Removes decisions of networks that neither exist nor are to be recorded, now and again.
    async fn tidy(&mut self) {
        loop {
            self.prune().await;
            if let Ok(Err(_)) = timeout(LOOK_AGAIN, self.config.changed()).await {
                // The daemon is ending.
                pending::<()>().await;
            }
        }
    }

    async fn prune(&self) {
        // If the state is lost, it may be put back, with its networks.
        let lost = |condition: &tenure_types::Condition| condition.name == ConditionName::StateLost;
        if self.engine.whats_wrong().iter().any(lost) {
            return;
        }
        let config = Arc::clone(&self.config.borrow());
        let (writer, engine) = (Arc::clone(&self.writer), Arc::clone(&self.engine));
        let pruning = spawn_blocking(move || {
            let (recorded, names) = (config.recorded(), engine.network_names());
            let is_wanted = |name: &str| {
                recorded.contains_key(name)
                    || names.iter().map(NetworkName::as_str).any(|known| known == name)
            };
            writer.prune(is_wanted)
        });
        match pruning.await {
            Ok(Ok(0)) | Err(_) => {}
            Ok(Ok(networks)) => {
                tracing::info!(networks, "removed recorded decisions of networks that are gone");
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "cannot remove recorded decisions of networks that are gone");
            }
        }
    }
}

impl Drop for DecisionsPart {
    /// Ends the thread even if the part was aborted.
    fn drop(&mut self) {
        self.writer.recorder().close();
    }
}

impl Part for DecisionsPart {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        let writer = Arc::clone(&self.writer);
        let mut writing = spawn_blocking(move || writer.run());
        let ended = tokio::select! {
            ended = &mut writing => return ended.context("its thread panicked"),
            () = self.tidy() => Ok(()),
            () = stop.cancelled() => {
                self.writer.recorder().close();
                writing.await
            }
        };
        ended.context("its thread panicked")
    }
}
