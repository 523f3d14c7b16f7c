//! Sysctls, through /proc/sys: of the network namespace of the calling thread.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::error::Error;

fn path(key: &str) -> PathBuf {
    PathBuf::from("/proc/sys").join(key)
}

/// Reads a value; `None` if there is no such sysctl, as for a link that does not exist.
pub(crate) fn read(key: &str) -> Result<Option<String>, Error> {
    match fs::read_to_string(path(key)) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Io { what: format!("read /proc/sys/{key}"), source }),
    }
}

/// Writes a value.
pub(crate) fn write(key: &str, value: &str) -> Result<(), Error> {
    fs::write(path(key), value)
        .map_err(|source| Error::Io { what: format!("write {value} to /proc/sys/{key}"), source })
}
