//! What is damaged or cut off is kept under a name of its own, for people; nothing here is ever read as state.

use std::io::{self, Read};

use crate::disk::Disk;
use crate::names;

/// Copies a file's bytes, from an offset on, out of the way. A disk that refuses does not hide what was found.
pub(crate) fn keep_copy(disk: &dyn Disk, file: &str, from: u64, at: u64) {
    match copy(disk, file, from, at) {
        Ok(name) => tracing::warn!(file, copy = name, "a copy of what is wrong was put aside"),
        Err(error) => tracing::warn!(file, %error, "no copy of what is wrong could be put aside"),
    }
}

/// Gives a file a name that says that it is out of the way.
pub(crate) fn put_aside(disk: &dyn Disk, file: &str) -> io::Result<()> {
    let taken = disk.list()?;
    let mut names = names::quarantine(file, 0);
    let name = names.find(|name| !taken.contains(name)).ok_or(io::ErrorKind::AlreadyExists)?;
    disk.rename(file, &name)?;
    tracing::warn!(file, name, "a file was put aside");
    Ok(())
}

/// Copies a file's bytes, from an offset on, out of the way, durably. Returns the name of the copy.
pub(crate) fn copy(disk: &dyn Disk, file: &str, from: u64, at: u64) -> io::Result<String> {
    let bytes = read(disk, file, from)?;
    let taken = disk.list()?;
    for name in names::quarantine(file, at) {
        if !taken.contains(&name) {
            write(disk, &name, &bytes)?;
            return Ok(name);
        }
        // A start that is tried again and again would fill the disk.
        if read(disk, &name, 0)? == bytes {
            return Ok(name);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn read(disk: &dyn Disk, file: &str, from: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    disk.read(file, from)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A copy has its name only once it is whole.
fn write(disk: &dyn Disk, name: &str, bytes: &[u8]) -> io::Result<()> {
    let draft = names::temporary("quarantine");
    let mut copy = disk.create(&draft)?;
    copy.append(bytes)?;
    copy.sync_data()?;
    disk.rename(&draft, name)?;
    disk.sync_dir()
}
