//! Keeps damaged files and bytes that were cut off, under names of their own, for people; they are never read as
//! state.

use std::io::{self, Read};

use crate::disk::Disk;
use crate::names;

/// Copies a file's bytes from an offset into quarantine. A failure is only logged, so that it does not hide the
/// problem that was found.
pub(crate) fn keep_copy(disk: &dyn Disk, file: &str, from: u64, at: u64) {
    match copy(disk, file, from, at) {
        Ok(name) => tracing::warn!(file, copy = name, "quarantined a copy of damaged or torn bytes"),
        Err(error) => tracing::warn!(file, %error, "cannot quarantine a copy of damaged or torn bytes"),
    }
}

/// Renames a file into quarantine.
pub(crate) fn put_aside(disk: &dyn Disk, file: &str) -> io::Result<()> {
    let taken = disk.list()?;
    let mut names = names::quarantine(file, 0);
    let name = names.find(|name| !taken.contains(name)).ok_or(io::ErrorKind::AlreadyExists)?;
    disk.rename(file, &name)?;
    tracing::warn!(file, name, "quarantined a file");
    Ok(())
}

/// Copies a file's bytes from an offset into quarantine, durably. Returns the name of the copy.
pub(crate) fn copy(disk: &dyn Disk, file: &str, from: u64, at: u64) -> io::Result<String> {
    let bytes = read(disk, file, from)?;
    let taken = disk.list()?;
    for name in names::quarantine(file, at) {
        if !taken.contains(&name) {
            write(disk, &name, &bytes)?;
            return Ok(name);
        }
        // Without this check, repeated starts would fill the disk.
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

/// Writes a copy, which gets its name only once it is complete.
fn write(disk: &dyn Disk, name: &str, bytes: &[u8]) -> io::Result<()> {
    let draft = names::temporary("quarantine");
    let mut copy = disk.create(&draft)?;
    copy.append(bytes)?;
    copy.sync_data()?;
    disk.rename(&draft, name)?;
    disk.sync_dir()
}
