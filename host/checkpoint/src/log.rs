//! The segment that is being written: one append and one sync for a group, and room reserved ahead.

use std::io;

use crate::disk::{Disk, File};
use crate::durable::{Durable, End};
use crate::header::{Header, LogHeader};
use crate::names;

/// A log segment open for writing.
///
/// After an error it is poisoned and must be dropped: what of it is on the disk is not known any more.
pub(crate) struct Log {
    file: Box<dyn File>,
    number: u64,
    /// Where the last durable group ends.
    length: u64,
    /// That group, or the header.
    end: End,
    /// Where the reserved room ends.
    reserved: u64,
    can_reserve: bool,
}

impl Log {
    /// Writes a new segment under its temporary name; [`publish`](Self::publish) makes it real.
    pub(crate) fn prepare(disk: &dyn Disk, header: LogHeader) -> io::Result<Self> {
        let number = header.number;
        let mut bytes = Vec::new();
        Header::Log(header).encode(&mut bytes)?;
        let mut file = disk.create(&names::temporary(&names::log(number)))?;
        file.append(&bytes)?;
        file.sync_data()?;
        let length = bytes.len() as u64;
        Ok(Self { file, number, length, end: End::of(&bytes), reserved: length, can_reserve: true })
    }

    /// Gives the segment its name, durably.
    pub(crate) fn publish(&self, disk: &dyn Disk) -> io::Result<()> {
        let name = names::log(self.number);
        disk.rename(&names::temporary(&name), &name)?;
        disk.sync_dir()
    }

    /// Opens the segment that recovery has read last and that ends so, and makes durable that it is called so.
    ///
    /// A daemon that died between a renaming and its sync leaves a name that recovery sees and a crash would lose.
    pub(crate) fn resume(disk: &dyn Disk, number: u64, length: u64, end: End) -> io::Result<Self> {
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

    /// How far the log has come, whose last fact has this place.
    pub(crate) fn durable(&self, fact: u64) -> Durable {
        self.end.durable(fact, self.number, self.length)
    }

    /// Makes a group durable.
    pub(crate) fn append(&mut self, group: &[u8]) -> io::Result<()> {
        let result = self.file.append(group).and_then(|()| self.file.sync_data());
        match result {
            Ok(()) => {
                self.length += group.len() as u64;
                self.end = End::of(group);
            }
            // So that a start after this does not take for durable what only the page cache still has.
            Err(_) => _ = self.file.truncate(self.length),
        }
        result
    }

    /// Keeps at least half of `room` reserved behind the end, so that releases fit when the disk is full.
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

    /// Gives the reserved room back, when nothing more comes.
    pub(crate) fn seal(mut self) {
        // The room comes back by itself when the segment goes.
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
        let mut log = Log { file, number: 1, length: 0, end: End::default(), reserved: 0, can_reserve: true };
        assert!(log.keep_room(100).is_ok());
        assert!(!log.can_reserve, "it is asked once");
    }
}
