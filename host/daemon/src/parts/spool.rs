//! Replays the DELs that the plugin spools: before the daemon listens, and for as long as it serves.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Gate, Kind, Part};
use crate::replay::Replay;

/// How often to check the spool: a plugin may write to it just as the daemon starts to listen.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The part that replays the spool.
pub(crate) struct SpoolReplay {
    replay: Replay,
    replayed: Gate,
}

impl SpoolReplay {
    pub(crate) fn build(replay: Replay) -> Self {
        Self { replay, replayed: Gate::default() }
    }

    /// Opens once every DEL that was in the spool at the start has been tried.
    pub(crate) fn replayed(&self) -> Gate {
        self.replayed.clone()
    }

    async fn keep_looking(&mut self) {
        loop {
            self.replay.once().await;
            self.replayed.open();
            sleep(LOOK_AGAIN).await;
        }
    }
}

#[tonic::async_trait]
impl Part for SpoolReplay {
    fn name(&self) -> &'static str {
        "spool"
    }

    fn kind(&self) -> Kind {
        Kind::Restarted
    }

    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        stop.run_until_cancelled(self.keep_looking()).await;
        Ok(())
    }
}
