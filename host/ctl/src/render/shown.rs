//! The printed forms of every answer, defined once: its page for people, its JSON, and whether all is well.

use serde::Serialize;
use serde_json::Value;
use tenure_types::{Error, ErrorCode};

use super::page::Page;
use crate::exit::Exit;

/// An answer that can be printed. Its JSON is its fields; the snapshots beside `report` fix their names.
pub(crate) trait Shown: Serialize {
    /// Returns the page for people; ages are relative to `now_ms`, the wall clock's time.
    fn page(&self, now_ms: u64) -> Page;

    /// Whether the command found no problems.
    fn is_well(&self) -> bool {
        true
    }

    /// The errors beside the answer, for standard error. The exit code is that of the first one.
    fn failures(&self) -> &[Error] {
        &[]
    }
}

/// The result of a verb.
pub(crate) enum Report {
    Shown(Box<dyn DynShown>),
    /// Bytes for standard output, as they are.
    Raw(Vec<u8>),
}

/// An answer of any type.
pub(crate) trait DynShown {
    fn page(&self, now_ms: u64) -> Page;
    fn json(&self) -> Result<Value, Error>;
    fn is_well(&self) -> bool;
    fn failures(&self) -> &[Error];
}

impl<S: Shown> DynShown for S {
    fn page(&self, now_ms: u64) -> Page {
        Shown::page(self, now_ms)
    }

    fn json(&self) -> Result<Value, Error> {
        json(self)
    }

    fn is_well(&self) -> bool {
        Shown::is_well(self)
    }

    fn failures(&self) -> &[Error] {
        Shown::failures(self)
    }
}

impl Report {
    /// A verb's answer.
    pub(crate) fn of(answer: impl Shown + 'static) -> Self {
        Self::Shown(Box::new(answer))
    }

    /// The errors beside the answer.
    pub(crate) fn failures(&self) -> &[Error] {
        match self {
            Self::Shown(answer) => answer.failures(),
            Self::Raw(_) => &[],
        }
    }

    /// The program's exit code.
    pub(crate) fn exit(&self) -> Exit {
        if let Some(first) = self.failures().first() {
            return Exit::of(first.code);
        }
        match self {
            Self::Shown(answer) if !answer.is_well() => Exit::Problems,
            Self::Shown(_) | Self::Raw(_) => Exit::Done,
        }
    }
}

/// The value with its keys in order.
pub(crate) fn json(of: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(of).map_err(|error| Error::new(ErrorCode::InputOutput, error))
}
