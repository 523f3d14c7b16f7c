//! What the services ask of the daemon itself.

use std::path::Path;
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_runtime::Traces;
use tenure_types::{Allocation, Error};

/// What became of the configuration when it was read again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reloaded {
    /// Keys whose new values hold from now on.
    pub applied: Vec<String>,
    /// Keys whose new values hold only after a restart.
    pub after_restart: Vec<String>,
    /// Keys that could not be put in force yet, with what keeps them from it.
    pub problems: Vec<(String, String)>,
}

/// What the daemon knows beside its engine.
#[tonic::async_trait]
pub trait Node: Send + Sync + 'static {
    /// The daemon's version.
    fn version(&self) -> &str;
    /// The kernel's id of this boot.
    fn boot_id(&self) -> &str;
    /// Milliseconds since the daemon started.
    fn uptime_ms(&self) -> u64;
    /// Where the checkpoint lies.
    fn state_dir(&self) -> &Path;
    /// Bytes of the checkpoint's log and of its snapshot.
    fn checkpoint_bytes(&self) -> (u64, u64);
    /// The books as the checkpoint on disk would give them back.
    ///
    /// # Errors
    /// `CheckpointFailed` when recovery would stop.
    fn books_on_disk(&self) -> Result<Vec<Book>, Error>;
    /// What the sandboxes of allocations leave to be seen, in their order; and why the runtime, if configured, cannot be asked.
    async fn look_for(&self, held: &[Arc<Allocation>]) -> (Vec<Traces>, Option<Error>);
    /// Confirms a state that was lost to be all there is; says whether it was lost.
    ///
    /// # Errors
    /// `InputOutput` when that cannot be remembered.
    fn adopt(&self) -> Result<bool, Error>;
    /// Reads the configuration again.
    ///
    /// # Errors
    /// `InvalidConfig` when it is refused; then nothing has changed.
    async fn reload(&self) -> Result<Reloaded, Error>;
}
