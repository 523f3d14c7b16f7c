//! The run directory, which contains the daemon's sockets and the spooled DELs.
//!
//! Anyone with write access could replace the daemon's socket or add a DEL to the spool. So the directory is used only if nobody
//! except root and the daemon's own user can write to it.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

/// The directory's mode.
const MODE: u32 = 0o750;

/// The mode bits for writing by others and by the group.
const ANYBODY_WRITES: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;

/// Creates the directory and its missing parents, if it does not exist.
///
/// # Errors
/// The system's error.
pub fn create(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(MODE).create(directory)
}

/// Creates the default run directory before a daemon has, if it is missing; any other directory is left alone, because a mistyped one
/// would never be read. Nothing is created where others could replace it.
///
/// # Errors
/// The system's error; `PermissionDenied` if others may write to the directory above.
pub fn create_default(directory: &Path) -> io::Result<()> {
    let Some(above) = directory.parent() else { return Ok(()) };
    let is_default = Path::new(crate::DEFAULT_CNI_SOCKET).parent() == Some(directory);
    if !is_default || directory.try_exists()? {
        return Ok(());
    }
    if let Some(objection) = objection(above)? {
        let words = format!("cannot be created in {}: {objection}", above.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
    }
    match DirBuilder::new().mode(MODE).create(directory) {
        // A daemon that starts now was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

/// Why a directory must not be used as the run directory or the state directory, and how to fix it; `None` if nobody else can write to it.
///
/// # Errors
/// If it cannot be examined, or is not a directory.
pub fn objection(directory: &Path) -> io::Result<Option<String>> {
    let metadata = fs::metadata(directory)?;
    if !metadata.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(objection_to(directory, &metadata))
}

/// The same for anything that others must not be able to write, a file for instance.
#[must_use]
pub fn objection_to(path: &Path, metadata: &Metadata) -> Option<String> {
    let own = rustix::process::geteuid().as_raw();
    let objection = who_else_writes(metadata.uid(), metadata.gid(), metadata.mode(), own);
    objection.map(|(who, remedy)| format!("{who} can write to it; run `{remedy} {}`", path.display()))
}

/// Finds who else can write to a directory besides root and this user, and the command that prevents it.
fn who_else_writes(owner: u32, group: u32, mode: u32, own: u32) -> Option<(String, &'static str)> {
    if owner != 0 && owner != own {
        Some((format!("its owner, user {owner},"), "chown root"))
    } else if mode & ANYBODY_WRITES != 0 {
        Some(("any user".to_owned(), "chmod go-w"))
    } else if mode & GROUP_WRITES != 0 && group != 0 {
        Some((format!("group {group}"), "chmod g-w"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_and_oneself_may_write() {
        for (owner, group, mode) in [(0, 0, 0o750), (0, 0, 0o770), (7, 7, 0o755), (0, 12, 0o755)] {
            assert_eq!(who_else_writes(owner, group, mode, 7), None, "{owner}:{group} {mode:o}");
        }
        for (owner, group, mode) in
            [(8, 0, 0o700), (0, 12, 0o770), (0, 0, 0o757), (0, 0, 0o1777), (7, 7, 0o770)]
        {
            assert!(who_else_writes(owner, group, mode, 7).is_some(), "{owner}:{group} {mode:o}");
        }
    }

    #[test]
    fn a_directory_is_made_for_its_owner_and_objected_to_with_a_remedy() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("a/run");
        create(&run).unwrap();
        create(&run).unwrap();
        assert_eq!(objection(&run).unwrap(), None);
        fs::set_permissions(&run, fs::Permissions::from_mode(0o777)).unwrap();
        let words = format!("any user can write to it; run `chmod go-w {}`", run.display());
        assert_eq!(objection(&run).unwrap(), Some(words));
        fs::write(run.join("file"), "").unwrap();
        assert!(objection(&run.join("file")).is_err() && objection(&run.join("nothing")).is_err());
    }
}
