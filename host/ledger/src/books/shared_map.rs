//! A sorted map that is cheap to copy.
//!
//! A book is copied whenever somebody looks at it while it changes: a snapshot, a policy, a declaration that is tried out. With its
//! entries in [`BTreeMap`](std::collections::BTreeMap)s, a copy costs as much as the network has addresses, in the network's turn. Here
//! the entries are in chunks that copies share; a change copies only the chunk that it changes, and the list of chunks once.
//!
//! ```text
//!   the map      ──▶ [ first key, chunk ]  [ first key, chunk ]  [ first key, chunk ]
//!                            │                     │ ╲                   │
//!                         ┌──▼──┐               ┌──▼──┐ ╲ changed     ┌──▼──┐
//!                         │     │               │     │  ▶ its own    │     │
//!                         └──▲──┘               └──▲──┘    chunk      └──▲──┘
//!                            │                     │                     │
//!   its copy     ──▶ [ first key, chunk ]  [ first key, chunk ]  [ first key, chunk ]
//! ```

mod chunk;
mod counted;

use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use self::chunk::Chunk;
use self::counted::CountedEntries;

/// A sorted map whose copies share what neither has changed. Has the interface of the standard library's sorted map, as far as books
/// need it.
#[derive(Debug, Clone)]
pub(super) struct SharedMap<K, V> {
    /// In the order of their keys; none is empty.
    chunks: Arc<Vec<Indexed<K, V>>>,
    len: usize,
}

/// A sorted set whose copies share what neither has changed.
pub(super) type SharedSet<K> = SharedMap<K, ()>;

/// A chunk, with its first key, so that a search touches one chunk only.
#[derive(Debug, Clone)]
struct Indexed<K, V> {
    first: K,
    chunk: Arc<Chunk<K, V>>,
}

/// The place of an entry: its chunk, and its index there.
type EntryPlace = (usize, usize);

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self { chunks: Arc::default(), len: 0 }
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no entries.
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of a key.
    pub(super) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.chunks.get(self.chunk_of(key))?.chunk.get(key)
    }

    /// Whether a key has a value.
    pub(super) fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The value of a key, to be changed.
    pub(super) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.chunk_of(key);
        // Copies nothing for a key that is not there.
        self.chunks.get(place)?.chunk.get(key)?;
        Arc::make_mut(&mut Arc::make_mut(&mut self.chunks).get_mut(place)?.chunk).get_mut(key)
    }

    /// Sets the value of a key; returns the earlier one.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let place = self.chunk_of(&key);
        let chunks = Arc::make_mut(&mut self.chunks);
        let Some(Indexed { first, chunk }) = chunks.get_mut(place) else {
            chunks.push(Indexed { first: key.clone(), chunk: Arc::new(Chunk::of(key, value)) });
            self.len = 1;
            return None;
        };
        if key < *first {
            *first = key.clone();
        }
        let chunk = Arc::make_mut(chunk);
        let grows_at_end = chunk.last().is_some_and(|last| *last < key);
        let earlier = chunk.insert(key, value);
        if let Some((first, upper)) = chunk.split(grows_at_end) {
            chunks.insert(place + 1, Indexed { first, chunk: Arc::new(upper) });
        }
        self.len += usize::from(earlier.is_none());
        earlier
    }

    /// Removes a key; returns its value.
    pub(super) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.chunk_of(key);
        self.chunks.get(place)?.chunk.get(key)?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let indexed = chunks.get_mut(place)?;
        let chunk = Arc::make_mut(&mut indexed.chunk);
        let removed = chunk.remove(key)?;
        self.len -= 1;
        match chunk.first() {
            Some(first) => indexed.first = first.clone(),
            None => _ = chunks.remove(place),
        }
        self.merge(place);
        Some(removed)
    }

    /// The first entry.
    pub(super) fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// Removes the first entry.
    pub(super) fn pop_first(&mut self) -> Option<(K, V)> {
        let (key, _) = self.first_key_value()?;
        let key = key.clone();
        let value = self.remove(&key)?;
        Some((key, value))
    }

    /// The entries in order.
    pub(super) fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator + use<'_, K, V> {
        CountedEntries::new(self.between((0, 0), (self.chunks.len(), 0)), self.len)
    }

    /// The keys in order.
    pub(super) fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + use<'_, K, V> {
        self.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub(super) fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + use<'_, K, V> {
        self.iter().map(|(_, value)| value)
    }

    /// The entries whose keys are in a range, in order; none if the range ends before it begins.
    pub(super) fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(
        &self,
        range: R,
    ) -> impl DoubleEndedIterator<Item = (&K, &V)> + use<'_, Q, R, K, V>
    where
        K: Borrow<Q>,
    {
        let from = match range.start_bound() {
            Bound::Unbounded => (0, 0),
            Bound::Included(key) => self.place_of(key, false),
            Bound::Excluded(key) => self.place_of(key, true),
        };
        let to = match range.end_bound() {
            Bound::Unbounded => (self.chunks.len(), 0),
            Bound::Included(key) => self.place_of(key, true),
            Bound::Excluded(key) => self.place_of(key, false),
        };
        self.between(from, to)
    }

    /// Changes every value.
    pub(super) fn for_each_value(&mut self, change: impl FnMut(&mut V)) {
        let chunks = Arc::make_mut(&mut self.chunks).iter_mut();
        chunks.flat_map(|indexed| Arc::make_mut(&mut indexed.chunk).values_mut()).for_each(change);
    }

    /// The entries from a place to another, without that one.
    fn between(
        &self,
        from: EntryPlace,
        to: EntryPlace,
    ) -> impl DoubleEndedIterator<Item = (&K, &V)> + use<'_, K, V> {
        let behind = self.chunks.len().min(to.0 + 1);
        let chunks = self.chunks.get(from.0..behind).unwrap_or_default();
        chunks.iter().enumerate().flat_map(move |(index, indexed)| {
            let begin = if index == 0 { from.1 } else { 0 };
            let end = if from.0 + index == to.0 { Some(to.1) } else { None };
            indexed.chunk.entries(begin, end)
        })
    }

    /// The chunk that has a key, if any has it.
    fn chunk_of<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        self.chunks.partition_point(|indexed| indexed.first.borrow() <= key).saturating_sub(1)
    }

    /// The place of the first entry whose key is not below this one, or is above it. May be the end of a chunk.
    fn place_of<Q: Ord + ?Sized>(&self, key: &Q, is_above: bool) -> EntryPlace
    where
        K: Borrow<Q>,
    {
        let place = self.chunk_of(key);
        (place, self.chunks.get(place).map_or(0, |indexed| indexed.chunk.place_of(key, is_above)))
    }

    /// Joins the chunk at a place with the one behind it or before it, if both have become small.
    fn merge(&mut self, place: usize) {
        let chunks = Arc::make_mut(&mut self.chunks);
        for place in [Some(place), place.checked_sub(1)].into_iter().flatten() {
            let Some([lower, upper]) = chunks.get_mut(place..).and_then(<[_]>::first_chunk_mut) else {
                continue;
            };
            if lower.chunk.fits(&upper.chunk) {
                Arc::make_mut(&mut lower.chunk).append(&upper.chunk);
                chunks.remove(place + 1);
                return;
            }
        }
    }
}

impl<K: Ord + Clone, V: Clone> Extend<(K, V)> for SharedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| _ = self.insert(key, value));
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SharedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        map.extend(entries);
        map
    }
}

#[cfg(test)]
mod tests;
