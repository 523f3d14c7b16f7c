//! The state of a simulated disk: its names, its files, and what fails next.

use std::collections::BTreeMap;
use std::io;

use tenure_fixtures::random::Random;

use super::Faults;
use super::inode::Inode;

pub(super) struct SimState {
    pub(super) random: Random,
    pub(super) inodes: Vec<Inode>,
    pub(super) names: BTreeMap<String, usize>,
    pub(super) durable: BTreeMap<String, usize>,
    /// The name changes since the last directory sync, in order: a journalling file system keeps a prefix of them.
    pub(super) changes: Vec<SimChange>,
    pub(super) faults: Faults,
    pub(super) capacity: Option<u64>,
    pub(super) fuse: Option<u64>,
    pub(super) stopped: bool,
    /// How often the machine has crashed.
    pub(super) epoch: u64,
    pub(super) operations: u64,
}

#[derive(Clone)]
pub(super) enum SimChange {
    Create(String, usize),
    Rename(String, String),
    Remove(String),
}

impl SimChange {
    pub(super) fn apply(&self, names: &mut BTreeMap<String, usize>) {
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

impl SimState {
    pub(super) fn new(seed: u64) -> Self {
        Self {
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
        }
    }

    pub(super) fn used(&self) -> u64 {
        self.names.values().filter_map(|inode| self.inodes.get(*inode)).map(Inode::size).sum()
    }

    pub(super) fn room(&self) -> u64 {
        self.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(self.used()))
    }

    /// Counts a modifying operation; an error if the machine has stopped. The operation that blows the fuse still
    /// begins.
    pub(super) fn begin(&mut self) -> io::Result<bool> {
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

    pub(super) fn change(&mut self, change: SimChange) -> io::Result<()> {
        let last = self.begin()?;
        if !last && self.random.one_in_thousand(self.faults.name) {
            return Err(failure());
        }
        change.apply(&mut self.names);
        self.changes.push(change);
        if last { Err(stopped()) } else { Ok(()) }
    }

    /// Makes a file's bytes durable, or fails: then they are marked as clean, and later syncs do not write them.
    pub(super) fn sync(&mut self, inode: usize) -> io::Result<()> {
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

    pub(super) fn inode(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

pub(super) fn stopped() -> io::Error {
    io::Error::other("the machine has stopped")
}

pub(super) fn failure() -> io::Error {
    io::Error::other("input/output error")
}
