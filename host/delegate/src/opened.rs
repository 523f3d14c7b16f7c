//! Opening a delegate's binary: one open, and what was checked is what runs.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    FileType, MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, fstat, lstat, memfd_create, open, stat,
};
use rustix::io::Errno;
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
    check(&file).and_then(|()| check_directories(path)).map_err(|why| told(&why))?;
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

/// Refuses a path on which others than root and the daemon's user may put something else. What is in the binary's own directory
/// counts, too: a delegate is told it as the one to look for further plugins in.
fn check_directories(path: &Path) -> Result<(), String> {
    let real = path.canonicalize().map_err(|error| error.to_string())?;
    for path in [path, &real] {
        for (depth, directory) in path.ancestors().skip(1).enumerate() {
            let of = |why: &str| format!("its directory {} {why}", directory.display());
            let told = |error: Errno| of(&format!("cannot be checked: {}", io::Error::from(error)));
            let (named, found) = (lstat(directory).map_err(told)?, stat(directory).map_err(told)?);
            // In a sticky directory, nobody replaces what belongs to another.
            let is_sticky = found.st_mode & 0o1000 != 0 && depth > 0;
            if found.st_mode & 0o002 != 0 && !is_sticky {
                return Err(of("may be written by everybody"));
            }
            let ours = [0, geteuid().as_raw()];
            if let Some(other) = [named.st_uid, found.st_uid].iter().find(|uid| !ours.contains(uid)) {
                return Err(of(&format!(
                    "belongs to user {other}, neither to root nor to the daemon's user"
                )));
            }
        }
    }
    Ok(())
}

/// Refuses a file that is not a program, or that users other than root and the daemon's may write.
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

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Regression: everybody could replace a delegate in a directory that everybody may write.
    #[test]
    fn a_delegate_in_a_directory_that_everybody_may_write_is_not_run() {
        let root = tempfile::tempdir().unwrap();
        let (open, inner) = (root.path().join("open"), root.path().join("open/inner"));
        fs::create_dir_all(&inner).unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        for directory in [&open, &inner] {
            fs::write(directory.join("ipam"), "#!/bin/sh\n").unwrap();
            mode(&directory.join("ipam"), 0o755);
        }
        let link = root.path().join("link");
        symlink(open.join("ipam"), &link).unwrap();
        let refusal = |path: &Path| open_checked(path, None).map(drop).err().unwrap_or_default();
        let paths = [open.join("ipam"), inner.join("ipam"), link];
        paths.iter().for_each(|path| assert_eq!(refusal(path), ""));
        mode(&open, 0o777);
        let why = format!("its directory {} may be written by everybody", open.display());
        paths.iter().for_each(|path| assert_eq!(refusal(path), format!("{}: {why}", path.display())));
        // Sticky, it protects what is in its subdirectories, and leaves room for other plugins beside it.
        mode(&open, 0o1777);
        assert_eq!([refusal(&paths[0]).ends_with(&why), refusal(&paths[1]).is_empty()], [true, true]);
    }
}
