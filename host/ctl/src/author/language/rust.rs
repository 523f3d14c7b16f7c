//! Policies in Rust, on the SDK.

use std::path::Path;

use tenure_types::{Error, ErrorCode};

/// Builds the crate in a folder.
pub(super) fn build(folder: &Path) -> Result<Vec<u8>, Error> {
    tenure_sdk_build::build(folder).map_err(|error| {
        let code = if error.is_about_tools() { ErrorCode::ToolMissing } else { ErrorCode::BuildFailed };
        Error::new(code, error)
    })
}
