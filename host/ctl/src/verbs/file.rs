//! Files that a verb reads.

use std::fmt::Display;
use std::path::Path;

use tenure_types::{Error, ErrorCode};

/// The bytes of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| unreadable(path, &error))
}

/// What keeps a file or a directory from being read.
pub(super) fn unreadable(path: &Path, error: &dyn Display) -> Error {
    Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", path.display()))
}
