//! A disk in memory that does on purpose what real ones do by accident.
//!
//! - A [`crash`](SimDisk::crash) may lose what was not synced: any of the sectors, any suffix of the name changes.
//! - A sync that fails has written any of the sectors and marks all of them as clean, as Linux does: readers still
//!   see them, later syncs do not write them, and report success.
//! - A full disk takes part of an append.
//! - A [fuse](SimDisk::stop_after) stops the machine at any operation.
//!
//! Every choice comes from the seed. Handles from before a crash return errors.

mod file;
mod inode;
mod mark;
mod state;

use std::io::{self, Cursor, Read};
use std::sync::{Arc, Mutex, MutexGuard};

use tenure_types::hold;

use self::file::SimFile;
use self::inode::Inode;
pub use self::mark::Mark;
use self::state::{SimChange, SimState, failure, stopped};
use crate::disk::{Disk, File};

/// How often operations fail, per thousand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Syncs of bytes or names that fail.
    pub sync: u64,
    /// Appends that fail half-way.
    pub append: u64,
    /// Creations, renames and removals that fail.
    pub name: u64,
}

/// A simulated disk; clones share it.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<SimState>>,
}

impl SimDisk {
    /// An empty disk.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: Arc::new(Mutex::new(SimState::new(seed))) }
    }

    fn lock(&self) -> MutexGuard<'_, SimState> {
        hold(&self.state)
    }

    /// Makes operations fail at random from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// Limits the bytes that fit, including reserved ones.
    pub fn set_capacity(&self, capacity: Option<u64>) {
        self.lock().capacity = capacity;
    }

    /// The bytes in use, including reserved ones.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.lock().used()
    }

    /// Stops the machine at the n-th modifying operation from now; nothing works until the [`crash`](Self::crash).
    pub fn stop_after(&self, operations: u64) {
        self.lock().fuse = Some(operations);
    }

    /// Whether the fuse has blown.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// The number of modifying operations so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Loses the part of the unsynced changes that the seed chooses, and comes back.
    pub fn crash(&self) {
        let mut guard = self.lock();
        let state = &mut *guard;
        let kept = state.random.below(state.changes.len() as u64 + 1);
        for change in state.changes.drain(..).take(usize::try_from(kept).unwrap_or(usize::MAX)) {
            change.apply(&mut state.durable);
        }
        state.names.clone_from(&state.durable);
        for inode in &mut state.inodes {
            inode.crash(&mut state.random);
        }
        state.stopped = false;
        state.fuse = None;
        state.epoch += 1;
    }

    /// Ends the process, at the operation that blew the fuse if one did, while the machine keeps running: only its
    /// handles are lost.
    pub fn kill(&self) {
        let mut state = self.lock();
        state.epoch += 1;
        state.stopped = false;
        state.fuse = None;
    }

    /// A file's bytes as a reader sees them.
    #[must_use]
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.lock();
        Some(state.inodes.get(*state.names.get(name)?)?.bytes().to_vec())
    }

    /// Adds a file that is durable from the start.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut state = self.lock();
        let inode = state.inodes.len();
        state.inodes.push(Inode::durable(bytes.to_vec()));
        state.names.insert(name.to_owned(), inode);
        state.durable.insert(name.to_owned(), inode);
    }
}

impl Disk for SimDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let state = self.lock();
        if state.stopped { Err(stopped()) } else { Ok(state.names.keys().cloned().collect()) }
    }

    fn read(&self, name: &str, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let state = self.lock();
        if state.stopped {
            return Err(stopped());
        }
        let inode = state.inode(name)?;
        let bytes = state.inodes.get(inode).map_or(&[][..], Inode::bytes);
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        Ok(Box::new(Cursor::new(bytes.get(from..).unwrap_or_default().to_vec())))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        let mut state = self.lock();
        let inode = state.inodes.len();
        state.inodes.push(Inode::default());
        state.change(SimChange::Create(name.to_owned(), inode))?;
        Ok(Box::new(SimFile { disk: self.clone(), inode, epoch: state.epoch }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        let state = self.lock();
        if state.stopped {
            return Err(stopped());
        }
        Ok(Box::new(SimFile { disk: self.clone(), inode: state.inode(name)?, epoch: state.epoch }))
    }

    fn sync_and_forget(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        let number = state.inode(name)?;
        state.sync(number)?;
        state.inodes.get_mut(number).ok_or_else(failure)?.forget_clean();
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.inode(from)?;
        state.change(SimChange::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.inode(name)?;
        state.change(SimChange::Remove(name.to_owned()))
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = self.lock();
        if state.begin()? {
            return Err(stopped());
        }
        let rate = state.faults.sync;
        if state.random.one_in_thousand(rate) {
            return Err(failure());
        }
        state.durable = state.names.clone();
        state.changes.clear();
        Ok(())
    }
}
