//! Opening a delegate's binary: one open, and what was checked is what runs.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, fstat, memfd_create, open};
use rustix::process::geteuid;
use sha2::{Digest, Sha256};

/// The most bytes of a pinned binary.
const MOST: u64 = 512 << 20;

/// Opens a binary and checks that it may run. With a digest, returns a sealed copy in memory that has it, so that nobody can
/// change what was checked.
///
/// The descriptor stays open in the program that it becomes: the interpreter of a script has to read it.
pub(crate) fn open_checked(path: &Path, sha256: Option<&str>) -> Result<OwnedFd, String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    // Not to wait for a FIFO's other end.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = open(path, flags, Mode::empty()).map_err(|error| told(&io::Error::from(error)))?;
    check(&file).map_err(|why| told(&why))?;
    match sha256 {
        None => Ok(file),
        Some(expected) => {
            let (copy, found) = sealed(file).map_err(|error| told(&error))?;
            if found != expected {
                return Err(told(&format_args!("its SHA-256 is {found}, and {expected} is configured")));
            }
            Ok(copy)
        }
    }
}

/// Checks that a binary may run, as each of its calls does.
///
/// # Errors
/// The path, and why it may not.
pub fn usable(path: &Path, sha256: Option<&str>) -> Result<(), String> {
    open_checked(path, sha256).map(drop)
}

/// Refuses what is no program, and what others than root and the daemon's user may write.
fn check(file: &OwnedFd) -> Result<(), String> {
    let found = fstat(file).map_err(|error| io::Error::from(error).to_string())?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err("not a regular file".to_owned());
    }
    if found.st_mode & 0o111 == 0 {
        return Err("not executable".to_owned());
    }
    if found.st_mode & 0o022 != 0 {
        return Err("its group or others may write it".to_owned());
    }
    if found.st_uid != 0 && found.st_uid != geteuid().as_raw() {
        return Err(format!("it belongs to user {}, neither to root nor to the daemon's user", found.st_uid));
    }
    Ok(())
}

/// A copy in memory that can no longer change, and its digest.
fn sealed(file: OwnedFd) -> io::Result<(OwnedFd, String)> {
    // Older kernels know no MFD_EXEC, and need none.
    let copy = memfd_create("delegate", MemfdFlags::ALLOW_SEALING | MemfdFlags::EXEC)
        .or_else(|_| memfd_create("delegate", MemfdFlags::ALLOW_SEALING))?;
    let (mut from, mut to) = (File::from(file).take(MOST + 1), File::from(copy));
    let copied = io::copy(&mut from, &mut to)?;
    if copied > MOST {
        return Err(io::Error::other(format!("it is longer than {} MiB", MOST >> 20)));
    }
    to.flush()?;
    let copy = OwnedFd::from(to);
    fcntl_add_seals(&copy, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    // Only after the seals, so that these are the bytes for good.
    let mut sealed = File::from(copy);
    sealed.rewind()?;
    let mut digest = Sha256::new();
    io::copy(&mut sealed, &mut digest)?;
    Ok((sealed.into(), format!("{:x}", digest.finalize())))
}
