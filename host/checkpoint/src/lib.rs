//! The checkpoint: makes facts durable, and rebuilds the ledger's state from them.
//!
//! It owns the state directory, and the [`Mark`] in the run directory that tells whether the state is complete. It knows how a [`Fact`](tenure_ledger::Fact) is stored, but not whether one is right:
//! that is up to the ledger. A start calls [`Lock::take`], [`recover`] and [`Writer::open`]; the engine then gets the
//! [`CheckpointJournal`], and the writer gets the engine's [`Images`](tenure_engine::ports::Images).
//!
//! ```text
//! stage ──▶ queue ──▶ writer: append a group ──▶ one fdatasync ──▶ witness ──▶ tickets
//!                        │ failed: never retried                  ▲
//!                        ▼                                        │
//!                     snapshot from memory + a new segment ───────┘
//! ```
//!
//! A snapshot that is taken because the log has grown has a thread of its own, and nobody waits for it.
//!
//! # Files
//! | name | what it is |
//! |---|---|
//! | `log.0000000007` | a log segment: a header line, then a line for each fact |
//! | `snapshot.0000000007` | the state that `log.0000000007` continues |
//! | `*.tmp` | incomplete, and never read |
//! | `quarantine.*` | copies of damaged files and of bytes that were cut off; remove them when you like |
//! | `lock` | locked by the running daemon; contains its process id |
//!
//! Every line is `crc32c seq len json`, so the JSON begins at the fourth column:
//! ```text
//! cut -d' ' -f4- log.* | jq 'select(.fact.allocated) | .fact.allocated.owner'
//! ```

mod boot;
pub mod chapters;
mod compaction;
mod continuity;
mod disk;
mod durable;
mod error;
mod frame;
mod header;
mod line;
mod lock;
mod log;
mod mark;
mod names;
mod place;
mod quarantine;
mod queue;
mod reader;
mod recovery;
mod report;
mod segment;
#[cfg(feature = "sim")]
pub mod sim;
mod snapshot;
mod source;
mod torn;
mod v1;
mod writer;

#[cfg(test)]
mod tests;

pub use boot::{BootSource, boot_id, parse_boot_id};
pub use disk::{Disk, File, FileDisk};
pub use durable::{Durable, Witness};
pub use error::Error;
pub use header::{Base, FORMAT_VERSION, LogHeader};
pub use line::ChapterLine;
pub use lock::{Lock, LockError};
pub use mark::{Mark, Pen};
pub use queue::CheckpointJournal;
pub use reader::{LogItem, LogReader};
pub use recovery::{Recovered, Tail, recover, recover_after, recover_read_only, recover_with};
pub use report::{RecoveryReport, Skipped};
pub use source::{ChapterLines, Parts, SnapshotSource};
pub use writer::{Options, RunningWriter, Writer, WriterProgress};

/// The result of reading the state.
pub type Result<T, E = Error> = std::result::Result<T, E>;
