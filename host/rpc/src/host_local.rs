//! The files of host-local: one for each address, named after it, in a directory for each network.
//!
//! A file contains the container ID and, on the next line, the interface; plugins before 0.8 wrote the ID alone. An empty file
//! is left by a crash: its owner is unknown to host-local too, which never hands the address out again.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The most bytes read from a file, which contains two names.
const LONGEST: u64 = 4096;

/// The interface for files that name none.
pub const DEFAULT_INTERFACE: &str = "eth0";

/// The kind of an import's source that is the directory of one network, which has another name here. What follows it is the directory.
pub const HOST_LOCAL_NETWORK: &str = "host-local-network";

/// A container and, if the file has it, the interface; otherwise why the owner is unknown.
pub type Named = Result<(String, Option<String>), String>;

/// An address's file, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressFile {
    /// Distinguishes this reservation of the address from a later one: when the file was written.
    pub claim: String,
    /// The same in milliseconds since the Unix epoch; `None` before it.
    pub claimed_at_ms: Option<u64>,
    is_file: bool,
}

impl AddressFile {
    /// Looks at a file.
    ///
    /// # Errors
    /// As reading the metadata: `NotFound` if host-local has released the address.
    pub fn see(path: &Path) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
        let milliseconds = seconds.saturating_mul(1000).saturating_add(nanoseconds / 1_000_000);
        Ok(Self {
            claim: format!("{seconds}.{nanoseconds:09}"),
            claimed_at_ms: u64::try_from(milliseconds).ok(),
            is_file: metadata.is_file(),
        })
    }

    /// The owner that it names. Only regular files are opened: opening a pipe would block.
    ///
    /// # Errors
    /// As reading the file.
    pub fn owner(&self, path: &Path) -> io::Result<Named> {
        if !self.is_file {
            return Ok(Err("not a regular file".to_owned()));
        }
        let mut text = Vec::new();
        File::open(path)?.take(LONGEST).read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(match lines.next() {
            Some(container) => Ok((container.to_owned(), lines.next().map(str::to_owned))),
            None => Err("the file is empty, so the owner is unknown".to_owned()),
        })
    }
}
