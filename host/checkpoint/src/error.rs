//! Errors that stop a recovery.

use std::error::Error as StdError;
use std::io;

/// Why the state cannot be recovered. Nothing was changed or destroyed; a copy of the damaged file may have been
/// quarantined.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An I/O error.
    #[error("{what}: {source}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The error.
        source: io::Error,
    },
    /// Durable bytes are not those that were written.
    #[error("{file} is damaged at byte {offset}: {why}")]
    Damaged {
        /// The file.
        file: String,
        /// The offset of the first problem.
        offset: u64,
        /// The defect that was found.
        why: String,
    },
    /// The file has a format that this program does not know.
    #[error(
        "{file} has format version {found}, but this program reads only version {known}: run the program that wrote it, or a newer one"
    )]
    UnknownVersion {
        /// The file.
        file: String,
        /// The format's version.
        found: u64,
        /// The version that this program knows.
        known: u64,
    },
    /// The file has the format that was never released.
    #[error("{file} has format version 1, which was never released and is no longer supported")]
    Unreleased {
        /// The file.
        file: String,
    },
    /// A line has a form that this program does not know, and is not optional. The line is intact.
    #[error(
        "{file} has facts of chapter {chapter:?}, version {version}, at byte {offset}, which this program does not know; {program} wrote them"
    )]
    UnknownChapter {
        /// The file.
        file: String,
        /// The offset of the line.
        offset: u64,
        /// The line's chapter.
        chapter: String,
        /// The version of its form.
        version: u32,
        /// The program that wrote the file, with its version.
        program: String,
    },
    /// A required file is missing.
    #[error("{file} is missing, and the state cannot be recovered without it")]
    Missing {
        /// The file.
        file: String,
    },
    /// A fact is intact but contradicts what came before it.
    #[error("{file} contradicts itself at fact {place}")]
    Contradiction {
        /// The file.
        file: String,
        /// The fact's place in the log; 0 in a snapshot.
        place: u64,
        /// The contradiction.
        #[source]
        conflict: Box<dyn StdError + Send + Sync>,
    },
}

impl Error {
    /// Turns an I/O error into an error that names the operation.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// The affected file, if there is one.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Io { .. } => None,
            Self::Damaged { file, .. }
            | Self::UnknownVersion { file, .. }
            | Self::UnknownChapter { file, .. }
            | Self::Unreleased { file }
            | Self::Missing { file }
            | Self::Contradiction { file, .. } => Some(file),
        }
    }
}
