//! Undoing requests that their callers abandoned. An abandoned allocation would otherwise leak, so this part is essential.

use anyhow::{Context as _, bail};
use tenure_engine::Abandoned;
use tenure_supervise::Part;
use tokio_util::sync::CancellationToken;

/// The engine's undo task.
pub(crate) struct UndoPart(Option<Abandoned>);

impl UndoPart {
    pub(crate) fn build(abandoned: Abandoned) -> Self {
        Self(Some(abandoned))
    }
}

impl Part for UndoPart {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        let abandoned = self.0.take().context("it can run only once")?;
        tokio::select! {
            () = abandoned.run() => bail!("the engine is gone"),
            // An allocation that is not undone by now is freed by the DEL that its runtime sends.
            () = stop.cancelled() => Ok(()),
        }
    }
}
