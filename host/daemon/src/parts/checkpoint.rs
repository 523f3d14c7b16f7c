//! The checkpoint's thread. Without it nothing is acknowledged, so the daemon ends when it does.

use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use tenure_checkpoint::{Running, Writer};
use tenure_engine::ports::Images;
use tokio_util::sync::CancellationToken;

use super::{Kind, Part};

/// The writer, and what snapshots are made of.
pub(crate) struct Checkpoint {
    writer: Option<Writer>,
    images: Arc<dyn Images>,
}

impl Checkpoint {
    pub(crate) fn build(writer: Writer, images: Arc<dyn Images>) -> Self {
        Self { writer: Some(writer), images }
    }
}

#[tonic::async_trait]
impl Part for Checkpoint {
    fn name(&self) -> &'static str {
        "checkpoint"
    }

    fn kind(&self) -> Kind {
        Kind::Essential
    }

    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        let writer = self.writer.take().context("it runs once")?;
        let mut thread = Thread(Some(writer.run(Arc::clone(&self.images)).context("its thread")?));
        let ended = tokio::select! {
            ended = thread.ended() => ended.and_then(|()| bail!("its thread returned")),
            () = stop.cancelled() => {
                thread.stop();
                thread.ended().await
            }
        };
        ended
    }
}

/// The writer's thread. Where the stop cannot wait for a disk that hangs, the thread ends with the process; nothing that it has not
/// written was acknowledged.
struct Thread(Option<Running>);

impl Thread {
    fn stop(&self) {
        self.0.iter().for_each(Running::stop);
    }

    async fn ended(&mut self) -> anyhow::Result<()> {
        match &mut self.0 {
            Some(running) => running.ended().await.map_err(|words| anyhow!("its thread panicked: {words}")),
            None => Ok(()),
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            running.leave();
        }
    }
}
