//! The run directory, where the daemon is reached and where DELs wait for it.
//!
//! Whoever may write to it could put a socket of their own in the daemon's place, or a DEL of their own among the spooled
//! ones. So it is used only if root, or the daemon's own user, is the only one who may.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

/// Who may open the directory.
const MODE: u32 = 0o750;

/// What lets anybody write, and what lets a group.
const ANYBODY_WRITES: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;

/// Makes the directory, and what is missing above it, unless it is there.
///
/// # Errors
/// Whatever the system says.
pub fn create(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(MODE).create(directory)
}

/// Why a directory must not be used as a run directory, and what helps; `None` where nobody else may write to it.
///
/// # Errors
/// When it cannot be looked at, or is no directory.
pub fn objection(directory: &Path) -> io::Result<Option<String>> {
    let metadata = fs::metadata(directory)?;
    if !metadata.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let own = rustix::process::geteuid().as_raw();
    let objection = who_else_writes(metadata.uid(), metadata.gid(), metadata.mode(), own);
    Ok(objection
        .map(|(who, remedy)| format!("{who} may write to it; `{remedy} {}` helps", directory.display())))
}

/// Who may write to a directory beside root and this user, and the command that ends it.
fn who_else_writes(owner: u32, group: u32, mode: u32, own: u32) -> Option<(String, &'static str)> {
    if owner != 0 && owner != own {
        Some((format!("user {owner}, who owns it,"), "chown root"))
    } else if mode & ANYBODY_WRITES != 0 {
        Some(("anybody".to_owned(), "chmod go-w"))
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
        let words = format!("anybody may write to it; `chmod go-w {}` helps", run.display());
        assert_eq!(objection(&run).unwrap(), Some(words));
        fs::write(run.join("file"), "").unwrap();
        assert!(objection(&run.join("file")).is_err() && objection(&run.join("nothing")).is_err());
    }
}
