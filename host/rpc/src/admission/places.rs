//! Bounded numbers of connections: for each key, such as an agent or a user, and for all keys together.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use tenure_types::hold;

/// The places of all keys.
#[derive(Debug, Clone)]
pub(crate) struct Places<K> {
    /// The most of one key, and of all together.
    most_of_one: usize,
    most: usize,
    /// A `std::sync::Mutex`, held to count.
    taken: Arc<Mutex<HashMap<K, usize>>>,
}

/// A place; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct ConnectionPlace<K: Hash + Eq> {
    places: Places<K>,
    key: K,
}

impl<K: Hash + Eq + Clone> Places<K> {
    /// Places for so many of each key, and of all together.
    pub(super) fn new(most_of_one: usize, most: usize) -> Self {
        Self { most_of_one, most, taken: Arc::default() }
    }

    /// Another place of a key; `None` if there is none left.
    pub(super) fn take(&self, key: K) -> Option<ConnectionPlace<K>> {
        let mut taken = hold(&self.taken);
        let all: usize = taken.values().sum();
        if all >= self.most || taken.get(&key).is_some_and(|of_one| *of_one >= self.most_of_one) {
            return None;
        }
        *taken.entry(key.clone()).or_default() += 1;
        Some(ConnectionPlace { places: self.clone(), key })
    }
}

impl<K: Hash + Eq> Drop for ConnectionPlace<K> {
    fn drop(&mut self) {
        let mut taken = hold(&self.places.taken);
        if let Some(of_one) = taken.get_mut(&self.key) {
            *of_one -= 1;
            if *of_one == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_share_of_the_places() {
        let places = Places::new(4, 8);
        let mut of_one: Vec<_> = (0..4).map(|_| places.take(1).unwrap()).collect();
        assert!(places.take(1).is_none());
        let of_other: Vec<_> = (0..4).map(|_| places.take(2).unwrap()).collect();
        assert!(places.take(3).is_none(), "more than all together may have");
        of_one.pop();
        assert!(places.take(2).is_none());
        let again = places.take(1).unwrap();
        drop((of_one, of_other, again));
        assert!(places.taken.lock().unwrap().is_empty(), "those that are gone are forgotten");
    }
}
