//! Descriptors that a child has inherited besides its standard streams.

use std::fs;
use std::io;
use std::os::fd::RawFd;

/// The last of the standard streams.
const LAST_STREAM: RawFd = 2;

/// Closes every descriptor but the standard streams. The caller has opened none.
///
/// The program's own descriptors are closed by `execve` anyway; these were left by the process that started the program
/// open.
///
/// # Errors
/// When the descriptors cannot be listed.
pub fn close_inherited() -> io::Result<()> {
    let open: Vec<RawFd> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > LAST_STREAM)
        .collect();
    for descriptor in open {
        // The directory's own is closed already.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}
