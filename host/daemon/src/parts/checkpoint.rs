//! The checkpoint's writer thread. Nothing can be acknowledged without it, so it is essential.

use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use tenure_checkpoint::{RunningWriter, Writer};
use tenure_engine::ports::Images;
use tenure_supervise::Part;
use tokio_util::sync::CancellationToken;

/// The writer, and the source of its snapshots.
pub(crate) struct CheckpointPart {
    writer: Option<Writer>,
    images: Arc<dyn Images>,
}

impl CheckpointPart {
    pub(crate) fn build(writer: Writer, images: Arc<dyn Images>) -> Self {
        Self { writer: Some(writer), images }
    }
}

impl Part for CheckpointPart {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        let writer = self.writer.take().context("it can run only once")?;
        let mut thread =
            Thread(Some(writer.run(Arc::clone(&self.images)).context("cannot start its thread")?));
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

/// The writer's thread. If a disk hangs during the stop, the thread is left to end with the process; what it has not
/// written was not acknowledged.
struct Thread(Option<RunningWriter>);

impl Thread {
    fn stop(&self) {
        self.0.iter().for_each(RunningWriter::stop);
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
