//! Undoing what callers abandoned. An allocation that nobody gets or gives back would stay for ever, so the daemon ends without it.

use anyhow::{Context as _, bail};
use tenure_engine::Abandoned;
use tokio_util::sync::CancellationToken;

use super::{Kind, Part};

/// The engine's own task.
pub(crate) struct Undo(Option<Abandoned>);

impl Undo {
    pub(crate) fn build(abandoned: Abandoned) -> Self {
        Self(Some(abandoned))
    }
}

#[tonic::async_trait]
impl Part for Undo {
    fn name(&self) -> &'static str {
        "undo"
    }

    fn kind(&self) -> Kind {
        Kind::Essential
    }

    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        let abandoned = self.0.take().context("it runs once")?;
        tokio::select! {
            () = abandoned.run() => bail!("the engine is gone"),
            // What is not undone by now is given back by the DEL that its runtime sends.
            () = stop.cancelled() => Ok(()),
        }
    }
}
