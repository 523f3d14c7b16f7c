//! An open file of a simulated disk.

use std::io;

use super::SimDisk;
use super::state::{SimState, failure, stopped};
use crate::disk::File;

pub(super) struct SimFile {
    pub(super) disk: SimDisk,
    pub(super) inode: usize,
    pub(super) epoch: u64,
}

impl SimFile {
    fn check_epoch(&self, state: &SimState) -> io::Result<()> {
        if state.epoch == self.epoch {
            return Ok(());
        }
        Err(io::Error::other("a handle from before the crash"))
    }

    /// Begins an operation on the file; `true` if the machine stops in the middle of it.
    fn begin(&self, state: &mut SimState) -> io::Result<bool> {
        self.check_epoch(state)?;
        state.begin()
    }
}

impl File for SimFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut guard = self.disk.lock();
        let state = &mut *guard;
        let last = self.begin(state)?;
        let rate = state.faults.append;
        let fails = last || state.random.one_in_thousand(rate);
        let room = state.room();
        let Some(inode) = state.inodes.get_mut(self.inode) else { return Err(failure()) };
        let fitting = usize::try_from(room.saturating_add(inode.slack())).unwrap_or(usize::MAX);
        let length = if fails {
            usize::try_from(state.random.below(bytes.len() as u64 + 1)).unwrap_or_default()
        } else {
            bytes.len()
        };
        let length = length.min(fitting);
        inode.append(bytes.get(..length).unwrap_or_default());
        match (last, fails, length < bytes.len()) {
            (true, ..) => Err(stopped()),
            (_, true, _) => Err(failure()),
            (.., true) => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

    fn sync_data(&mut self) -> io::Result<()> {
        let mut state = self.disk.lock();
        self.check_epoch(&state)?;
        state.sync(self.inode)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut guard = self.disk.lock();
        let last = self.begin(&mut guard)?;
        if let Some(inode) = guard.inodes.get_mut(self.inode) {
            inode.truncate(length);
        }
        if last { Err(stopped()) } else { Ok(()) }
    }

    fn reserve(&mut self, up_to: u64) -> io::Result<()> {
        let mut guard = self.disk.lock();
        let state = &mut *guard;
        if self.begin(state)? {
            return Err(stopped());
        }
        let room = state.room();
        let Some(inode) = state.inodes.get_mut(self.inode) else { return Err(failure()) };
        if up_to.saturating_sub(inode.size()) > room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        inode.reserve(up_to);
        Ok(())
    }
}
