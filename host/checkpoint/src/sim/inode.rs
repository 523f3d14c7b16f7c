//! A simulated file: what a reader sees, what is on the platter, and which sectors differ because they were not
//! synced.

use std::collections::BTreeSet;

use tenure_fixtures::random::Random;

const SECTOR: usize = 512;

#[derive(Default)]
pub(super) struct Inode {
    cache: Vec<u8>,
    platter: Vec<u8>,
    dirty: BTreeSet<usize>,
    reserved: u64,
}

impl Inode {
    pub(super) fn durable(bytes: Vec<u8>) -> Self {
        Self { cache: bytes.clone(), platter: bytes, ..Self::default() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.cache
    }

    /// The room that it takes on the disk.
    pub(super) fn size(&self) -> u64 {
        self.reserved.max(self.cache.len() as u64)
    }

    /// How much can be appended to the reserved room.
    pub(super) fn slack(&self) -> u64 {
        self.size() - self.cache.len() as u64
    }

    pub(super) fn reserve(&mut self, up_to: u64) {
        self.reserved = self.reserved.max(up_to);
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let start = self.cache.len();
        self.cache.extend_from_slice(bytes);
        self.dirty.extend(start / SECTOR..=(self.cache.len() - 1) / SECTOR);
    }

    pub(super) fn truncate(&mut self, length: u64) {
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(self.cache.len());
        self.cache.truncate(length);
        self.dirty.retain(|sector| sector * SECTOR < length);
        self.reserved = 0;
    }

    pub(super) fn sync(&mut self) {
        self.platter.resize(self.cache.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            self.write_sector(sector);
        }
    }

    /// Writes any of the sectors to the platter, and marks all as clean.
    pub(super) fn fail_to_sync(&mut self, random: &mut Random) {
        for sector in std::mem::take(&mut self.dirty) {
            if random.below(2) == 0 {
                let end = ((sector + 1) * SECTOR).min(self.cache.len());
                self.platter.resize(self.platter.len().max(end), 0);
                self.write_sector(sector);
            }
        }
    }

    /// Reads clean sectors from the platter again; the file's length does not depend on the page cache.
    pub(super) fn forget_clean(&mut self) {
        for start in (0..self.cache.len()).step_by(SECTOR) {
            if self.dirty.contains(&(start / SECTOR)) {
                continue;
            }
            let end = (start + SECTOR).min(self.cache.len());
            let Some(sector) = self.cache.get_mut(start..end) else { continue };
            let written = self.platter.get(start..end.min(self.platter.len())).unwrap_or_default();
            sector.fill(0);
            for (to, from) in sector.iter_mut().zip(written) {
                *to = *from;
            }
        }
    }

    pub(super) fn crash(&mut self, random: &mut Random) {
        // Unacknowledged bytes may survive completely, which would hardly ever happen by chance in a larger group.
        if random.below(4) == 0 {
            self.sync();
        }
        let (old, new) = (self.platter.len(), self.cache.len());
        let (short, long) = (old.min(new), old.max(new));
        let length = short + usize::try_from(random.below((long - short) as u64 + 1)).unwrap_or_default();
        // A truncation happens completely or not at all.
        self.platter.resize(if new < old && length > new { old } else { length }, 0);
        for sector in std::mem::take(&mut self.dirty) {
            if random.below(2) == 0 {
                self.write_sector(sector);
            }
        }
        self.cache.clone_from(&self.platter);
        self.reserved = 0;
    }

    fn write_sector(&mut self, sector: usize) {
        let start = sector * SECTOR;
        let end = (start + SECTOR).min(self.cache.len()).min(self.platter.len());
        if let (Some(to), Some(from)) = (self.platter.get_mut(start..end), self.cache.get(start..end)) {
            to.copy_from_slice(from);
        }
    }
}
