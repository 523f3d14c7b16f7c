//! Reads what a compiler has written into a policy's folder.

use std::fs;
use std::path::Path;

use tenure_types::{Error, ErrorCode};

use super::bindings::{self, WORLD};

/// The file of the module.
pub(super) const MODULE: &str = "module.wasm";

/// The module in a folder as a component.
pub(super) fn component(folder: &Path) -> Result<Vec<u8>, Error> {
    wrapped(&folder.join(MODULE), &bindings::wit(folder)?, WORLD)
}

/// The module in a file as a component.
pub(in crate::author) fn wrapped(module: &Path, wit: &str, world: &str) -> Result<Vec<u8>, Error> {
    tenure_sdk_build::wrap(&module.display().to_string(), &read(module)?, wit, world)
        .map_err(|error| Error::new(ErrorCode::BuildFailed, error))
}

/// The bytes of a file.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, Error> {
    fs::read(file)
        .map_err(|error| Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", file.display())))
}
