//! The open log segment: one append and one sync per group, and room reserved ahead.

use std::io;

use crate::disk::{Disk, File};
use crate::durable::{Durable, LogEnd};
use crate::header::{Header, LogHeader};
use crate::names;

/// A log segment open for writing.
///
/// After an error it is poisoned and must be dropped: its contents on the disk are unknown.
pub(crate) struct Log {
    file: Box<dyn File>,
    number: u64,
    /// The end of the last durable group.
    length: u64,
    /// The length and checksum of that group, or of the header.
    end: LogEnd,
    /// The end of the reserved room.
    reserved: u64,
    can_reserve: bool,
}

impl Log {
    /// Writes a new segment under its temporary name; [`publish`](Self::publish) renames it.
    pub(crate) fn prepare(disk: &dyn Disk, header: LogHeader) -> io::Result<Self> {
        let number = header.number;
        let mut bytes = Vec::new();
        Header::Log(header).encode(&mut bytes)?;
        let mut file = disk.create(&names::temporary(&names::log(number)))?;
        file.append(&bytes)?;
        file.sync_data()?;
        let length = bytes.len() as u64;
        Ok(Self { file, number, length, end: LogEnd::of(&bytes), reserved: length, can_reserve: true })
    }

    /// Renames the segment to its final name, durably.
    pub(crate) fn publish(&self, disk: &dyn Disk) -> io::Result<()> {
        let name = names::log(self.number);
        disk.rename(&names::temporary(&name), &name)?;
        disk.sync_dir()
    }

    /// Opens the last segment that recovery has read, with this end, and makes its name durable.
    ///
    /// A daemon that died between a rename and its sync leaves a name that recovery sees but a crash would lose.
    pub(crate) fn resume(disk: &dyn Disk, number: u64, length: u64, end: LogEnd) -> io::Result<Self> {
        let file = disk.open(&names::log(number))?;
        disk.sync_dir()?;
        Ok(Self { file, number, length, end, reserved: length, can_reserve: true })
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The durable end of the log, whose last fact has this place.
    pub(crate) fn durable(&self, fact: u64) -> Durable {
        self.end.durable(fact, self.number, self.length)
    }

    /// Checks that a start would find the segment.
    pub(crate) fn is_in_place(&self) -> io::Result<()> {
        self.file.is_in_place(&names::log(self.number))
    }

    /// Makes a group durable, in a segment that a start would find.
    pub(crate) fn append(&mut self, group: &[u8]) -> io::Result<()> {
        let result = self.file.append(group).and_then(|()| self.file.sync_data());
        let result = result.and_then(|()| self.is_in_place());
        match result {
            Ok(()) => {
                self.length += group.len() as u64;
                self.end = LogEnd::of(group);
            }
            // Otherwise the next start would treat bytes as durable that are only in the page cache.
            Err(_) => _ = self.file.truncate(self.length),
        }
        result
    }

    /// Keeps at least half of `room` reserved behind the end, so that releases still fit if the disk is full.
    pub(crate) fn keep_room(&mut self, room: u64) -> io::Result<()> {
        if !self.can_reserve || self.reserved >= self.length + room / 2 {
            return Ok(());
        }
        match self.file.reserve(self.length + room) {
            Ok(()) => {
                self.reserved = self.length + room;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.can_reserve = false;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Releases the reserved room, because nothing more will be written.
    pub(crate) fn seal(mut self) {
        // If this fails, the room is released when the segment is removed.
        let _ = self.file.truncate(self.length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct WithoutReserve;

    impl File for WithoutReserve {
        fn append(&mut self, _: &[u8]) -> io::Result<()> {
            Ok(())
        }

        fn sync_data(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn truncate(&mut self, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn reserve(&mut self, _: u64) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    #[test]
    fn a_file_system_that_cannot_reserve_is_not_called_full() {
        let file = Box::new(WithoutReserve);
        let mut log =
            Log { file, number: 1, length: 0, end: LogEnd::default(), reserved: 0, can_reserve: true };
        assert!(log.keep_room(100).is_ok());
        assert!(!log.can_reserve, "it is tried only once");
    }
}
