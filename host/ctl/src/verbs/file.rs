//! Reading files, with errors that name the path.

use std::fmt::Display;
use std::path::Path;

use tenure_types::{Error, ErrorCode};

/// Reads a whole file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| unreadable(path, &error))
}

/// The error for a file or directory that cannot be read.
pub(super) fn unreadable(path: &Path, error: &dyn Display) -> Error {
    Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", path.display()))
}
