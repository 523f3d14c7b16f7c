//! A disk in memory that does on purpose what real ones do by accident.
//!
//! - A [`crash`](SimDisk::crash) may lose what was not synced: any of the sectors, any suffix of the name changes.
//! - A sync that fails has written any of the sectors and marks all of them as clean, as Linux does: readers still
//!   see them, later syncs do not write them, and report success.
//! - A full disk takes part of an append.
//! - A [fuse](SimDisk::stop_after) stops the machine at any operation.
//!
//! Every choice comes from the seed. Handles from before a crash return errors.

mod inode;
mod mark;

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_fixtures::random::Random;

use self::inode::Inode;
pub use self::mark::Mark;
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
    state: Arc<Mutex<State>>,
}

struct State {
    random: Random,
    inodes: Vec<Inode>,
    names: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    /// The name changes since the last directory sync, in order: a journalling file system keeps a prefix of them.
    changes: Vec<Change>,
    faults: Faults,
    capacity: Option<u64>,
    fuse: Option<u64>,
    stopped: bool,
    /// How often the machine has crashed.
    epoch: u64,
    operations: u64,
}

#[derive(Clone)]
enum Change {
    Create(String, usize),
    Rename(String, String),
    Remove(String),
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Create(name, inode) => _ = names.insert(name.clone(), *inode),
            Self::Rename(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
            Self::Remove(name) => _ = names.remove(name),
        }
    }
}

impl SimDisk {
    /// An empty disk.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let state = State {
            random: Random::new(seed),
            inodes: Vec::new(),
            names: BTreeMap::new(),
            durable: BTreeMap::new(),
            changes: Vec::new(),
            faults: Faults::default(),
            capacity: None,
            fuse: None,
            stopped: false,
            epoch: 0,
            operations: 0,
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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

impl State {
    fn used(&self) -> u64 {
        self.names.values().filter_map(|inode| self.inodes.get(*inode)).map(Inode::size).sum()
    }

    fn room(&self) -> u64 {
        self.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(self.used()))
    }

    /// Counts a modifying operation; an error if the machine has stopped. The operation that blows the fuse still
    /// begins.
    fn begin(&mut self) -> io::Result<bool> {
        if self.stopped {
            return Err(stopped());
        }
        self.operations += 1;
        if let Some(fuse) = &mut self.fuse {
            if *fuse == 0 {
                self.stopped = true;
                return Ok(true);
            }
            *fuse -= 1;
        }
        Ok(false)
    }

    fn change(&mut self, change: Change) -> io::Result<()> {
        let last = self.begin()?;
        if !last && self.random.one_in_thousand(self.faults.name) {
            return Err(failure());
        }
        change.apply(&mut self.names);
        self.changes.push(change);
        if last { Err(stopped()) } else { Ok(()) }
    }

    /// Makes a file's bytes durable, or fails: then they are marked as clean, and later syncs do not write them.
    fn sync(&mut self, inode: usize) -> io::Result<()> {
        let last = self.begin()?;
        let one_in_thousand = if last { 500 } else { self.faults.sync };
        let fails = self.random.one_in_thousand(one_in_thousand);
        let inode = self.inodes.get_mut(inode).ok_or_else(failure)?;
        match (last, fails) {
            (_, true) => inode.fail_to_sync(&mut self.random),
            (false, false) => inode.sync(),
            // The machine stops before the sync has begun.
            (true, false) => {}
        }
        if last {
            Err(stopped())
        } else if fails {
            Err(failure())
        } else {
            Ok(())
        }
    }

    fn inode(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn stopped() -> io::Error {
    io::Error::other("the machine has stopped")
}

fn failure() -> io::Error {
    io::Error::other("input/output error")
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
        state.change(Change::Create(name.to_owned(), inode))?;
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
        state.change(Change::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.inode(name)?;
        state.change(Change::Remove(name.to_owned()))
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

struct SimFile {
    disk: SimDisk,
    inode: usize,
    epoch: u64,
}

impl SimFile {
    fn check_epoch(&self, state: &State) -> io::Result<()> {
        if state.epoch == self.epoch {
            return Ok(());
        }
        Err(io::Error::other("a handle from before the crash"))
    }

    /// Begins an operation on the file; `true` if the machine stops in the middle of it.
    fn begin(&self, state: &mut State) -> io::Result<bool> {
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
