//! Reading files, with errors that name the path.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::error::Category;
use tenure_types::{Error, ErrorCode};

/// Reads a whole file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| unreadable(path, &error))
}

/// The name that a component's file suggests for its policy: the file's without its extension, or that of its folder where
/// `tenurectl policy build` has written it.
pub(super) fn component_name(file: &Path) -> String {
    let folder = std::path::absolute(file).ok();
    let folder = folder.as_deref().and_then(Path::parent).and_then(Path::file_name);
    let stem = file.file_stem().filter(|stem| *stem != "policy").or(folder);
    stem.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Writes a file that is there whole or not at all, also after a crash; only its owner may read it.
pub(super) fn replace(path: &Path, text: &[u8]) -> Result<(), Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let temporary = Path::new(&name);
    let written = || {
        let _ = fs::remove_file(temporary);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(temporary)?;
        file.write_all(text).and_then(|()| file.sync_all())?;
        fs::rename(temporary, path)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    };
    written().map_err(|error: std::io::Error| {
        let _ = fs::remove_file(temporary);
        Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", path.display()))
    })
}

/// The error for a file or directory that cannot be read.
pub(super) fn unreadable(path: &Path, error: &dyn Display) -> Error {
    Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", path.display()))
}

/// The error for a file whose text is not JSON, or not the JSON that is expected.
pub(super) fn malformed(path: &Path, error: &serde_json::Error) -> Error {
    let is_json = error.classify() == Category::Data;
    let what = if is_json { "" } else { "it is not JSON: " };
    Error::new(ErrorCode::MalformedConfig, format_args!("{}: {what}{error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_that_was_built_in_a_folder_has_the_folders_name() {
        let name = |file: &str| component_name(Path::new(file));
        assert_eq!(name("quotas/policy.wasm"), "quotas");
        assert_eq!(name("/srv/quotas/zones.wasm"), "zones");
        assert_eq!(name("/policy.wasm"), "", "the daemon refuses that, and says how names look");
    }
}
