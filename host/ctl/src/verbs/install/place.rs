//! Files that appear and disappear as a whole: a program that opens or runs one
//! meanwhile gets the old one or the new one.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown,
};
use std::path::{Path, PathBuf};

use tenure_types::{Error, ErrorCode};

/// The mode of a directory that is missing.
const DIRECTORY_MODE: u32 = 0o755;

/// The content of a file, or `None` if there is none.
///
/// # Errors
/// `FileInTheWay` if something else has its name, such as a link: somebody made it on purpose.
pub(in crate::verbs) fn content(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, &error)),
        Ok(found) if found.is_file() => fs::read(path).map(Some).map_err(|error| failed(path, &error)),
        Ok(_) => {
            let cause = format_args!("{} is not a regular file", path.display());
            Err(Error::new(ErrorCode::FileInTheWay, cause))
        }
    }
}

/// The next step where the directory of an installed file is not there.
pub(super) const SHOW_DIRECTORY: &str =
    "in a container, mount it; if it is gone from the node, create it, empty";

/// The directory of a file, if it does not exist. Whether the file does is not known then: a container sees only the directories that it mounts.
pub(super) fn unseen(path: &Path) -> Option<&Path> {
    Some(directory(path)).filter(|directory| !directory.is_dir())
}

/// Writes a file with a mode, and as root for root. The directory is created if it is missing.
pub(in crate::verbs) fn write(path: &Path, content: &[u8], mode: u32) -> Result<(), Error> {
    let temporary = temporary(path);
    let written = || {
        let directory = directory(path);
        fs::DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory)?;
        // One that a crash has left; nobody else makes such a name.
        let _ = fs::remove_file(&temporary);
        fill(&temporary, content, mode)?;
        fs::rename(&temporary, path)?;
        File::open(directory)?.sync_all()
    };
    written().map_err(|error: io::Error| {
        let _ = fs::remove_file(&temporary);
        failed(path, &error)
    })
}

/// Writes a new file, and closes it: a program that is open for writing cannot be run.
fn fill(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    if rustix::process::geteuid().is_root() {
        // A directory may hand its group on.
        fchown(&file, Some(0), Some(0))?;
    }
    // The umask does not apply.
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}

/// Removes a file.
pub(in crate::verbs) fn remove(path: &Path) -> Result<(), Error> {
    let removed = fs::remove_file(path).and_then(|()| File::open(directory(path))?.sync_all());
    removed.map_err(|error| failed(path, &error))
}

/// The name beside a file under which the next one is written: no runtime reads or runs a file of such a name.
pub(super) fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.new"))
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(in crate::verbs) fn failed(path: &Path, error: &io::Error) -> Error {
    let failed = Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", path.display()));
    match foreign_owner(directory(path)).filter(|_| error.kind() == io::ErrorKind::PermissionDenied) {
        None => failed,
        Some(owner) => {
            let directory = directory(path).display();
            failed.to_be_solved_by(format!(
                "`chown root {directory}`: it belongs to user {owner}, and root without the capability CAP_DAC_OVERRIDE, as in the chart's containers, \
                 cannot write there"
            ))
        }
    }
}

/// The owner of a directory, if it is another user than root, who asks.
fn foreign_owner(directory: &Path) -> Option<u32> {
    let owner = fs::metadata(directory).ok()?.uid();
    (owner != 0 && rustix::process::geteuid().is_root()).then_some(owner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;
    use std::thread;

    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

    use super::*;

    /// As in the chart's containers, on a node whose directories of CNI belong to another user.
    #[test]
    fn root_without_capabilities_is_told_whose_directory_it_is() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: needs root");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        chown(directory.path(), Some(1000), None).unwrap();
        let path = directory.path().join("tenure");
        // Capabilities are those of a thread.
        let write = || {
            let mut left = capabilities(None).unwrap();
            left.effective.remove(CapabilitySet::DAC_OVERRIDE);
            set_capabilities(None, left).unwrap();
            write(&path, b"one", 0o755).unwrap_err()
        };
        let error = thread::scope(|scope| scope.spawn(write).join().unwrap());
        assert!(error.cause.ends_with("tenure: Permission denied (os error 13)"), "{error}");
        let next = format!("`chown root {}`: it belongs to user 1000,", directory.path().display());
        assert!(error.next_step().starts_with(&next), "{}", error.next_step());
    }

    #[test]
    fn a_file_is_replaced_whole_with_its_mode_and_whatever_a_crash_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/tenure");
        assert_eq!(content(&path).unwrap(), None);
        write(&path, b"one", 0o755).unwrap();
        let open = File::open(&path).unwrap();
        fs::write(temporary(&path), "half").unwrap();
        write(&path, b"other", 0o755).unwrap();
        assert_eq!(content(&path).unwrap().as_deref(), Some(&b"other"[..]));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o755);
        assert_eq!(io::read_to_string(open).unwrap(), "one", "whoever has opened the old one keeps it");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
        remove(&path).unwrap();
        assert!(remove(&path).is_err());
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tenure");
        fs::create_dir_all(path.join("full")).unwrap();
        assert!(write(&path, b"new", 0o755).is_err(), "a directory cannot be replaced by a file");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert_eq!(content(&path).unwrap_err().code, ErrorCode::FileInTheWay);
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("tenure", &link).unwrap();
        assert_eq!(content(&link).unwrap_err().code, ErrorCode::FileInTheWay);
    }
}
