//! The writer in a thread of its own.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::{Writer, WriterProgress, panicked};
use crate::queue::WriteQueue;
use crate::source::SnapshotSource;

impl Writer {
    /// Runs the steps in a thread of its own until [`RunningWriter`] is stopped or dropped. Snapshots are taken beside it.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn run<S: SnapshotSource + ?Sized>(mut self, source: Arc<S>) -> io::Result<RunningWriter> {
        let queue = Arc::clone(&self.queue);
        self.has_thread = true;
        let (ends, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(move || {
            // Dropped after the writer, which waits for the thread of its snapshot.
            let _ends: oneshot::Sender<()> = ends;
            let mut writer = self;
            while writer.step(source.as_ref()) == WriterProgress::Worked || writer.queue.wait() {}
        })?;
        Ok(RunningWriter { queue, thread: Some(thread), ended })
    }
}

/// A writer in its thread. Dropping it writes what is staged, abandons a snapshot in progress, and ends the thread.
pub struct RunningWriter {
    queue: Arc<WriteQueue>,
    thread: Option<JoinHandle<()>>,
    /// Resolves when the thread ends, in any way.
    ended: oneshot::Receiver<()>,
}

impl RunningWriter {
    /// Asks the thread to write what is staged and to end, without a snapshot that is in progress.
    pub fn stop(&self) {
        self.queue.stop();
    }

    /// Waits until the thread has ended.
    ///
    /// # Errors
    /// The panic message, if it panicked. Then all tickets have failed.
    pub async fn ended(&mut self) -> Result<(), String> {
        let Some(thread) = &self.thread else { return Ok(()) };
        if !thread.is_finished() {
            // Nothing is ever sent: the sender is dropped with the thread.
            let _ = (&mut self.ended).await;
        }
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().map_err(|panic| panicked::message(panic.as_ref()))
    }

    /// Detaches the thread, for a caller that cannot wait for a hanging disk.
    pub fn leave(mut self) {
        self.thread = None;
    }
}

impl Drop for RunningWriter {
    fn drop(&mut self) {
        self.queue.stop();
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has failed all tickets when it was dropped.
            let _ = thread.join();
        }
    }
}
