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
//! With each proposal goes what a policy could ask of the network: the whole of it at the beginning of a file and where the thread was
//! lost, otherwise what has changed since the decision before. So the record answers every question of any policy.
//!
//! This module does not know the interface of policies: questions and answers are JSON.

mod books;
mod decision;
mod files;
mod following;
mod queue;
mod read;
mod recorder;
mod tape;
mod view;
mod words;
mod writer;

pub use books::RecordedBooks;
pub(crate) use decision::encoded;
pub use decision::{DecisionOutcome, Function, RecordedDecision, RecordedLimits, RecordedQuestion};
pub use read::{DecisionFiles, Recorded, Unreadable};
pub use recorder::{MOST_RECORDED, Recorder};
pub(crate) use tape::Tape;
pub use view::RecordedView;
pub(crate) use words::question;
pub use writer::DecisionWriter;
pub(crate) use writer::folder;
