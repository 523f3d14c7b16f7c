//! The entries of a map that are copied together.

use std::borrow::Borrow;

/// The most entries of a chunk. More make a change after a copy dearer, fewer make the copy dearer.
pub(super) const MOST: usize = 128;

/// Sorted entries. Keys and values apart, so that a search reads keys only, and neither is padded for the other.
#[derive(Debug)]
pub(super) struct Chunk<K, V> {
    keys: Vec<K>,
    values: Vec<V>,
}

/// Copies have no room beyond their entries, as [`make_room`] expects.
impl<K: Clone, V: Clone> Clone for Chunk<K, V> {
    fn clone(&self) -> Self {
        Self { keys: self.keys.clone(), values: self.values.clone() }
    }
}

impl<K: Ord + Clone, V: Clone> Chunk<K, V> {
    /// A chunk of one entry.
    pub(super) fn of(key: K, value: V) -> Self {
        Self { keys: vec![key], values: vec![value] }
    }

    pub(super) fn first(&self) -> Option<&K> {
        self.keys.first()
    }

    pub(super) fn last(&self) -> Option<&K> {
        self.keys.last()
    }

    pub(super) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.values.get(self.find(key).ok()?)
    }

    pub(super) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let index = self.find(key).ok()?;
        self.values.get_mut(index)
    }

    /// Sets the value of a key; returns the earlier one. May leave one entry more than a chunk may have.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(index) => self.values.get_mut(index).map(|earlier| std::mem::replace(earlier, value)),
            Err(index) => {
                make_room(&mut self.keys);
                make_room(&mut self.values);
                self.keys.insert(index, key);
                self.values.insert(index, value);
                None
            }
        }
    }

    pub(super) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let index = self.find(key).ok()?;
        self.keys.remove(index);
        Some(self.values.remove(index))
    }

    /// Takes the upper part of a chunk that has too many entries, with its first key: half of it, or if the chunk grows at its end, as
    /// most do, only the last entry, so that chunks in ascending order become full.
    pub(super) fn split(&mut self, grows_at_end: bool) -> Option<(K, Self)> {
        if self.keys.len() <= MOST {
            return None;
        }
        let at = if grows_at_end { MOST } else { MOST / 2 };
        let upper = Self { keys: self.keys.split_off(at), values: self.values.split_off(at) };
        let first = upper.keys.first()?.clone();
        Some((first, upper))
    }

    /// Whether this chunk and the next one are so small that they should be one.
    pub(super) fn fits(&self, next: &Self) -> bool {
        self.keys.len() + next.keys.len() <= MOST - MOST / 4
    }

    /// Appends the entries of the next chunk.
    pub(super) fn append(&mut self, next: &Self) {
        self.keys.extend(next.keys.iter().cloned());
        self.values.extend(next.values.iter().cloned());
    }

    /// The index of the first key that is not below this one, or is above it.
    pub(super) fn place_of<Q: Ord + ?Sized>(&self, key: &Q, is_above: bool) -> usize
    where
        K: Borrow<Q>,
    {
        match is_above {
            true => self.keys.partition_point(|known| known.borrow() <= key),
            false => self.keys.partition_point(|known| known.borrow() < key),
        }
    }

    /// The entries from an index to before another, or to the end.
    pub(super) fn entries(
        &self,
        from: usize,
        to: Option<usize>,
    ) -> impl DoubleEndedIterator<Item = (&K, &V)> + use<'_, K, V> {
        let to = to.unwrap_or(self.keys.len());
        let keys = self.keys.get(from..to).unwrap_or_default();
        keys.iter().zip(self.values.get(from..to).unwrap_or_default())
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.values.iter_mut()
    }

    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.keys.binary_search_by(|known| known.borrow().cmp(key))
    }
}

/// Makes room for another entry: for twice as many, but for no more than a chunk can have.
fn make_room<T>(entries: &mut Vec<T>) {
    if entries.len() == entries.capacity() {
        entries.reserve_exact(entries.len().clamp(4, (MOST + 1).saturating_sub(entries.len()).max(4)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_makes_room_for_twice_its_entries_and_no_more_than_it_can_have() {
        let mut chunk = Chunk::of(0, ());
        let rooms = (1..MOST).map(|key| {
            chunk.insert(key, ());
            chunk.keys.capacity()
        });
        let mut rooms = Vec::from_iter(rooms);
        rooms.dedup();
        assert_eq!(rooms, [5, 10, 20, 40, 80, MOST + 1]);

        let (keys, values) = ((0..100).collect(), vec![0; 100]);
        let mut copy = Chunk { keys, values }.clone();
        copy.insert(100, 0);
        assert_eq!([copy.keys.capacity(), copy.values.capacity()], [MOST + 1; 2]);
    }
}
