//! How many connections may be open: bounded for all users together and for each, so that nobody uses up the daemon's file
//! descriptors.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most connections of one user.
const MOST_OF_USER: usize = 256;

/// The most connections of all users.
const MOST: usize = 512;

/// The open connections of each user. A `std::sync::Mutex`, held to count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places(Arc<Mutex<HashMap<u32, usize>>>);

/// A connection's place; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Place {
    places: Places,
    uid: u32,
}

impl Places {
    /// A place for another connection of a user; `None` if there is none left.
    pub(crate) fn take(&self, uid: u32) -> Option<Place> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = open.values().sum();
        if all >= MOST || open.get(&uid).is_some_and(|of_user| *of_user >= MOST_OF_USER) {
            return None;
        }
        *open.entry(uid).or_default() += 1;
        Some(Place { places: self.clone(), uid })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_user) = open.get_mut(&self.uid) {
            *of_user -= 1;
            if *of_user == 0 {
                open.remove(&self.uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_a_share_of_the_places() {
        let places = Places::default();
        let mut of_one: Vec<Place> = (0..MOST_OF_USER).map(|_| places.take(1).unwrap()).collect();
        assert!(places.take(1).is_none());
        let of_other: Vec<Place> = (0..MOST_OF_USER).map(|_| places.take(2).unwrap()).collect();
        assert!(places.take(3).is_none(), "more than all together may have");
        of_one.pop();
        assert!(places.take(2).is_none());
        let again = places.take(1).unwrap();
        drop((of_one, of_other, again));
        assert!(places.0.lock().unwrap().is_empty(), "users that are gone are forgotten");
    }
}
