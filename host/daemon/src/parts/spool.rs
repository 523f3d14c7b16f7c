//! Replays the DELs that the plugin spools: before the daemon listens, and for as long as it serves.

use std::time::Duration;

use tenure_supervise::{Gate, Interruptible, idle_beat};

use crate::replay::SpoolReplay;

/// How often to check the spool: a plugin may write to it just as the daemon starts to listen.
const LOOK_AGAIN: Duration = Duration::from_secs(4);

/// The part that replays the spool.
pub(crate) struct SpoolPart {
    replay: SpoolReplay,
    replayed: Gate,
}

impl SpoolPart {
    pub(crate) fn build(replay: SpoolReplay) -> Self {
        Self { replay, replayed: Gate::default() }
    }

    /// Opens once every DEL that was in the spool at the start has been tried.
    pub(crate) fn replayed(&self) -> Gate {
        self.replayed.clone()
    }
}

impl Interruptible for SpoolPart {
    async fn work(&mut self) {
        loop {
            self.replay.once().await;
            self.replayed.open();
            idle_beat(LOOK_AGAIN).await;
        }
    }
}
