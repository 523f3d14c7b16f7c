//! What stops a recovery.

use std::error::Error as StdError;
use std::io;

/// Why the state cannot be read. Nothing was changed or destroyed; a copy of what is wrong may have been set aside.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk refused.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the disk said.
        source: io::Error,
    },
    /// Bytes that were durable are not what was written.
    #[error("{file} is damaged at byte {offset}: {why}")]
    Damaged {
        /// The file.
        file: String,
        /// Where the first thing that is wrong begins.
        offset: u64,
        /// What is wrong.
        why: String,
    },
    /// The file is of a format that this program does not know.
    #[error(
        "{file} has format version {found}, and this program reads version {known} only: run the program that wrote it, or a newer one"
    )]
    UnknownVersion {
        /// The file.
        file: String,
        /// The version it has.
        found: u64,
        /// The version that is known.
        known: u64,
    },
    /// The file is of the format that no release has written.
    #[error("{file} has format version 1, which was never released and is not read any more")]
    Unreleased {
        /// The file.
        file: String,
    },
    /// A line says something that this program does not know and cannot do without. It is whole, and nothing is wrong with it.
    #[error(
        "{file} has facts of chapter {chapter:?}, version {version}, at byte {offset}, which this program does not know; {program} wrote them"
    )]
    UnknownChapter {
        /// The file.
        file: String,
        /// Where the line begins.
        offset: u64,
        /// Whose facts they are.
        chapter: String,
        /// Which form they have.
        version: u32,
        /// The program that wrote the file, with its version.
        program: String,
    },
    /// A file that must be there is not.
    #[error("{file} is missing, and without it the state is not known")]
    Missing {
        /// The file.
        file: String,
    },
    /// A fact is intact and contradicts what came before it.
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
    /// Names what was tried when the disk refused.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// The file that is wrong, where one is.
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
