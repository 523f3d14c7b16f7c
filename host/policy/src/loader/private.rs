//! Files that only the daemon may have written: a directory of its own, each file written new and renamed.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Rights of others, which nothing here may have.
const OTHERS: u32 = 0o077;

/// A directory that nobody else may enter.
#[derive(Debug)]
pub(super) struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Names a directory; it is made when something is written.
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// A file's bytes, when it and the directory are the daemon's own.
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

    /// Whether a file is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.join(name).is_file()
    }

    /// Writes a file: new, synced, renamed, the directory synced.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let temporary = self.0.join(format!(".{name}.new"));
        // What a crash left behind; it may have been anyone's, so it is not opened.
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
}

fn is_private(metadata: &std::fs::Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & OTHERS == 0
}

fn check(holds: bool, path: &Path) -> io::Result<()> {
    let cause = || format!("{} is not the daemon's alone", path.display());
    if holds { Ok(()) } else { Err(io::Error::new(io::ErrorKind::PermissionDenied, cause())) }
}

#[expect(clippy::cast_possible_wrap, reason = "the kernel's flags are ints")]
fn no_follow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits() as i32
}
