//! The last export, kept in the state directory: as long as its file has not changed, the other plugin has done nothing with it, and each of its rows that
//! the state no longer has ended under tenure.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tenure_ledger::Book;
use tenure_types::{Error, ErrorCode};

use crate::verbs::file;

/// The name of the file.
const NAME: &str = "exported.json";

/// The file that was written, and the state that wrote it.
#[derive(Serialize, Deserialize)]
pub(super) struct FormerExport {
    network: String,
    /// The place in the log that the network's book was current as of.
    through: u64,
    text: String,
}

impl FormerExport {
    /// The last export of this state; `None` if there is none that can be read.
    pub(super) fn read(state: &Path) -> Option<Self> {
        serde_json::from_slice(&file::read(&at(state)).ok()?).ok()
    }

    pub(super) fn of(book: &Book, text: &str) -> Self {
        Self { network: book.name().to_string(), through: book.through(), text: text.to_owned() }
    }

    /// Keeps it for the next export.
    ///
    /// # Errors
    /// `InputOutput`.
    pub(super) fn keep(&self, state: &Path) -> Result<(), Error> {
        let text = serde_json::to_vec(self).map_err(|error| Error::new(ErrorCode::Internal, error))?;
        file::replace(&at(state), &text)
    }

    /// Whether a file is still as it was written from this book. An older copy of the state does not know what the export knew.
    pub(super) fn is(&self, text: &[u8], book: &Book) -> bool {
        let is_later = book.through() >= self.through;
        self.network == book.name().as_str() && is_later && self.text.as_bytes() == text
    }
}

fn at(state: &Path) -> PathBuf {
    state.join(NAME)
}
