//! Files that only the daemon can have written: in its private directory, each written to a new file and renamed.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The permissions of group and others, none of which a private file may have.
const OTHERS: u32 = 0o077;

/// A directory that only the daemon can access.
#[derive(Debug)]
pub(super) struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Names a directory; the first write creates it.
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// A file's bytes, if the file and the directory are private to the daemon.
    pub(super) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let directory = self.0.symlink_metadata()?;
        check(directory.is_dir() && is_private(&directory), &self.0)?;
        let path = self.0.join(name);
        let mut file = OpenOptions::new().read(true).custom_flags(no_follow()).open(&path)?;
        let metadata = file.metadata()?;
        check(metadata.is_file() && is_private(&metadata), &path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Whether a file exists.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.join(name).is_file()
    }

    /// Writes a new file, syncs and renames it, and syncs the directory.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let temporary = self.0.join(format!(".{name}.new"));
        // A crash may have left it behind. It might be someone else's, so it is removed, not opened.
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(no_follow())
            .open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, self.0.join(name))?;
        File::open(&self.0)?.sync_all()
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.0.join(name))
    }

    /// Removes unwanted files and those that a crash left half written; returns how many. Nothing may be written
    /// meanwhile.
    ///
    /// `is_wanted` returns `None` for a name that is not one of this directory's; such a file is left alone.
    pub(super) fn prune(&self, is_wanted: impl Fn(&str) -> Option<bool>) -> io::Result<usize> {
        let directory = match self.0.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            other => other?,
        };
        check(directory.is_dir() && is_private(&directory), &self.0)?;
        let mut removed = 0;
        for entry in std::fs::read_dir(&self.0)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|_| entry.file_type().is_ok_and(|kind| kind.is_file()))
            else {
                continue;
            };
            let draft = name.strip_prefix('.').and_then(|name| name.strip_suffix(".new"));
            let is_over = match draft {
                Some(draft) => is_wanted(draft).is_some(),
                None => is_wanted(name) == Some(false),
            };
            if is_over {
                std::fs::remove_file(entry.path())?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

fn is_private(metadata: &std::fs::Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & OTHERS == 0
}

fn check(holds: bool, path: &Path) -> io::Result<()> {
    let cause = || format!("{} is not private to the daemon", path.display());
    if holds { Ok(()) } else { Err(io::Error::new(io::ErrorKind::PermissionDenied, cause())) }
}

#[expect(clippy::cast_possible_wrap, reason = "the kernel's flags are ints")]
fn no_follow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits() as i32
}
