//! How far the log has come, told to somebody outside of the state directory before anybody who waits for it is answered.
//!
//! A state directory in whose place an older copy of itself was put looks as whole as the one that it replaced. Only somebody
//! who keeps apart from it how far it had come can tell the two apart.

use std::io;

use crate::disk::Disk;
use crate::names;

/// Hears how far the log has come.
pub trait Witness: Send + Sync + 'static {
    /// This is durable, and whoever waits for it is answered when this returns: it must be quick, and cannot fail.
    fn durable(&self, durable: &Durable);
}

/// How far the log had come: its last group, and where that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durable {
    /// The place of the last fact; 0 where there has been none.
    pub fact: u64,
    /// The number of the last segment.
    pub log: u64,
    /// Its length in bytes, up to the end of its last group.
    pub length: u64,
    /// The length in bytes of that group, or of the segment's header where no group has followed it.
    pub group: u64,
    /// The CRC-32C of those bytes. There are moments in them, so that another life of the same log has another one.
    pub checksum: u32,
}

impl Durable {
    /// Whether a log that goes up to `length` in segment `last` has all this, and is the same log.
    ///
    /// # Errors
    /// When the segment is there and cannot be read.
    pub(crate) fn is_in(&self, disk: &dyn Disk, last: u64, length: u64) -> io::Result<bool> {
        if self.fact == 0 {
            // Nothing was ever told to anybody, so nothing can be missing.
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

/// The bytes that a segment ends with, without the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct End {
    length: u64,
    checksum: u32,
}

impl End {
    /// The end that these bytes are: the last group's, or the header's.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len() as u64, checksum: crc32c::crc32c(bytes) }
    }

    /// How far a log has come that ends so.
    pub(crate) fn durable(self, fact: u64, log: u64, length: u64) -> Durable {
        Durable { fact, log, length, group: self.length, checksum: self.checksum }
    }
}
