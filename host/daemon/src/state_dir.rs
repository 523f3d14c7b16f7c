//! The state directory before anything in it is believed: nobody but root and the daemon's user may be able to write to it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tenure_rpc::run_dir;

/// A state directory that cannot be believed, because others can write to it. Retrying does not help.
#[derive(Debug, thiserror::Error)]
#[error("state directory {}: {objection}", path.display())]
pub(crate) struct StateDirUnsafe {
    path: PathBuf,
    /// Users with access, and the command that removes it.
    objection: String,
}

/// Checks who can write to the directory, and to the files of the checkpoint in it.
///
/// # Errors
/// [`StateDirUnsafe`] if somebody else can; any I/O error of looking.
pub(crate) fn check(directory: &Path) -> anyhow::Result<()> {
    let found = |objection| StateDirUnsafe { path: directory.into(), objection };
    let objection =
        run_dir::objection(directory).with_context(|| format!("state directory {}", directory.display()))?;
    if let Some(objection) = objection {
        return Err(found(objection).into());
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_state = |prefix: &str| name.to_string_lossy().starts_with(prefix);
        if !is_state("log.") && !is_state("snapshot.") {
            continue;
        }
        // Not the target of a link: a user that can replace the link is seen at the directory.
        let metadata = match fs::symlink_metadata(entry.path()) {
            // A running daemon has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            found => found?,
        };
        // A link has no permissions of its own.
        if let Some(objection) =
            run_dir::objection_to(&entry.path(), &metadata).filter(|_| !metadata.is_symlink())
        {
            let name = name.to_string_lossy();
            return Err(found(format!("{name}: {objection}")).into());
        }
    }
    Ok(())
}
