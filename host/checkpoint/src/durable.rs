//! Reports the durable end of the log to a witness outside the state directory, before anyone who waits for it is
//! answered.
//!
//! A state directory that was replaced by an older copy of itself looks intact. Only a witness that is stored
//! elsewhere and knows how far the log had come can detect that.

use std::io;

use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::names;

/// Records how far the log has come.
pub trait Witness: Send + Sync + 'static {
    /// Called when this end is durable, before those who wait for it are answered, and now and then with the same end. It must be quick, and
    /// cannot fail.
    fn durable(&self, durable: &Durable);
}

/// The durable end of the log: its last group, and where that ends.
///
/// The next segment's header stores it under these names, and the mark in the run directory as numbers in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durable {
    /// The place of the last fact; 0 if there has been none.
    pub fact: u64,
    /// The number of the last segment.
    pub log: u64,
    /// The segment's length in bytes, up to the end of its last group.
    pub length: u64,
    /// The length of that group in bytes, or of the segment's header if no group has followed it.
    pub group: u64,
    /// The CRC-32C of those bytes. They contain moments, so that another history of the same log has another
    /// checksum.
    pub checksum: u32,
}

impl Durable {
    /// Whether a log that ends at `length` in segment `last` contains all this, and is the same log.
    ///
    /// # Errors
    /// If the segment exists and cannot be read.
    pub(crate) fn is_in(&self, disk: &dyn Disk, last: u64, length: u64) -> io::Result<bool> {
        if self.fact == 0 {
            // Nothing was ever acknowledged, so nothing can be missing.
            return Ok(true);
        }
        let Some(begins) = self.length.checked_sub(self.group) else { return Ok(false) };
        if (last, length) < (self.log, self.length) {
            return Ok(false);
        }
        let mut group = Vec::new();
        match disk.read(&names::log(self.log), begins) {
            Ok(reader) => io::Read::read_to_end(&mut io::Read::take(reader, self.group), &mut group)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        Ok(group.len() as u64 == self.group && crc32c::crc32c(&group) == self.checksum)
    }
}

/// The length and checksum of the bytes at the end of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LogEnd {
    length: u64,
    checksum: u32,
}

impl LogEnd {
    /// The end made of these bytes: the last group's, or the header's.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len() as u64, checksum: crc32c::crc32c(bytes) }
    }

    /// The durable end of a log with this end.
    pub(crate) fn durable(self, fact: u64, log: u64, length: u64) -> Durable {
        Durable { fact, log, length, group: self.length, checksum: self.checksum }
    }
}
