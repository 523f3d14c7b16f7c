//! The id of the running boot.

use std::io;

use tenure_types::BootId;

/// Reads the kernel's id of the running boot.
///
/// # Errors
/// If `/proc` is not mounted.
pub fn boot_id() -> io::Result<BootId> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(BootId(id.trim_end().to_owned()))
}
