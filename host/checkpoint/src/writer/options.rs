//! The writer's settings.

use std::sync::Arc;

use tenure_engine::ports::{Clock, Observer};
use tenure_types::BootId;

use crate::disk::Disk;
use crate::durable::Witness;

/// How this program identifies itself in the files that it writes.
const PROGRAM: &str = concat!("tenured ", env!("CARGO_PKG_VERSION"));

/// The writer's settings.
#[derive(Clone)]
pub struct Options {
    /// The state directory.
    pub disk: Arc<dyn Disk>,
    /// Used for the creation time of files.
    pub clock: Arc<dyn Clock>,
    /// Notified of each sync.
    pub observer: Arc<dyn Observer>,
    /// Notified how far the log has come, before those who wait for it.
    pub witness: Option<Arc<dyn Witness>>,
    /// The running boot.
    pub boot: BootId,
    /// The node's name, for people.
    pub node: String,
    /// How the program identifies itself in the files that it writes, with its version.
    pub program: String,
    /// How much room is reserved ahead, in bytes; half of it is for releases on a full disk.
    pub reserve: u64,
    /// The segment length in bytes from which a snapshot is worthwhile.
    pub compact_above: u64,
}

impl Options {
    /// Options with the reserve and the compaction threshold of a node.
    #[must_use]
    pub fn new(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        boot: BootId,
        node: impl Into<String>,
    ) -> Self {
        let (witness, node, program, size) = (None, node.into(), PROGRAM.to_owned(), 4 << 20);
        Self { disk, clock, observer, witness, boot, node, program, reserve: size, compact_above: size }
    }
}
