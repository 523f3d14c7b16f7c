//! Recorded decisions of policies: what each call was given, what it asked, what it was told, and what it answered.
//!
//! A decision is self-contained: [`WasmPolicy::replay`](crate::WasmPolicy::replay) makes it again anywhere, without a
//! book. Decisions are diagnostics: they are not synced, and may be dropped.
//!
//! ```text
//!  a call ─▶ Tape ─▶ Recorder (bounded queue) ─▶ Writer, on its own thread ─▶ decisions/NETWORK/now.jsonl ─▶ Decisions
//!                                                                                      before.jsonl
//! ```
//!
//! This module does not know the interface of policies: questions and answers are JSON.

mod decision;
mod files;
mod queue;
mod read;
mod recorder;
mod tape;
mod words;
mod writer;

pub(crate) use decision::encoded;
pub use decision::{DecisionOutcome, Function, RecordedDecision, RecordedLimits, RecordedQuestion};
pub use read::{DecisionFiles, Recorded, Unreadable};
pub use recorder::{MOST_RECORDED, Recorder};
pub(crate) use tape::Tape;
pub(crate) use words::question;
pub use writer::DecisionWriter;
pub(crate) use writer::folder;
