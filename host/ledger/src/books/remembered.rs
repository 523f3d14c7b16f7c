//! The last addresses of owners that are gone, by the owner's lasting name. Bounded in number and in time.

use std::sync::Arc;
use std::time::Duration;

use tenure_types::Moment;

use super::image::Remembrance;
use super::shared_map::SharedMap;

/// The maximum number of names remembered.
const MOST: usize = 4096;

/// How long a name is remembered.
const LIFE: Duration = Duration::from_secs(24 * 3600);

/// The last addresses of owners that are gone.
#[derive(Debug, Clone, Default)]
pub(super) struct Remembered {
    by_place: SharedMap<u64, Arc<Remembrance>>,
    places: SharedMap<Arc<str>, u64>,
    next: u64,
}

impl Remembered {
    /// Remembers an owner's addresses, replacing earlier ones. If there are too many names, the longest gone is
    /// forgotten.
    pub(super) fn remember(&mut self, remembrance: Remembrance) {
        self.forget(&remembrance.name);
        if self.by_place.len() >= MOST
            && let Some((_, oldest)) = self.by_place.pop_first()
        {
            self.places.remove(&oldest.name);
        }
        self.places.insert(Arc::clone(&remembrance.name), self.next);
        self.by_place.insert(self.next, Arc::new(remembrance));
        self.next += 1;
    }

    fn forget(&mut self, name: &str) {
        if let Some(place) = self.places.remove(name) {
            self.by_place.remove(&place);
        }
    }

    pub(super) fn of(&self, name: &str) -> Option<&Remembrance> {
        self.by_place.get(self.places.get(name)?).map(Arc::as_ref)
    }

    /// All entries, the longest gone first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Remembrance> {
        self.by_place.values().map(Arc::as_ref)
    }

    /// Whether the oldest entry has expired.
    pub(super) fn has_expired(&self, now: Moment) -> bool {
        self.by_place.first_key_value().is_some_and(|(_, oldest)| now.since(oldest.at) >= LIFE)
    }

    /// Removes expired entries.
    pub(super) fn expire(&mut self, now: Moment) {
        while self.has_expired(now) {
            if let Some((_, oldest)) = self.by_place.pop_first() {
                self.places.remove(&oldest.name);
            }
        }
    }

    /// Restarts the expiry of every entry, because times of different boots cannot be compared.
    pub(super) fn restart(&mut self, now: Moment) {
        self.by_place.for_each_value(|remembrance| Arc::make_mut(remembrance).at = now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remembrance(number: usize, at: u64) -> Remembrance {
        let at = Moment { boot_ns: at, wall_ms: 0 };
        Remembrance { name: format!("ns/pod-{number}").into(), at, addresses: Box::default() }
    }

    #[test]
    fn the_longest_gone_makes_room() {
        let mut remembered = Remembered::default();
        for number in 0..=MOST {
            remembered.remember(remembrance(number, 1));
        }
        assert_eq!(remembered.iter().count(), MOST);
        assert!(remembered.of("ns/pod-0").is_none() && remembered.of("ns/pod-1").is_some());
        remembered.remember(remembrance(1, 2));
        assert_eq!(remembered.iter().count(), MOST, "it replaces its own entry");
        assert!(remembered.of("ns/pod-2").is_some());
    }

    #[test]
    fn a_name_has_one_entry() {
        let mut remembered = Remembered::default();
        remembered.remember(remembrance(1, 1));
        remembered.remember(remembrance(1, 2));
        assert_eq!(remembered.iter().map(|entry| entry.at.boot_ns).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_day_later_it_is_forgotten() {
        let day = 86_400 * 1_000_000_000;
        let mut remembered = Remembered::default();
        remembered.remember(remembrance(1, 5));
        remembered.remember(remembrance(2, 6));
        let at = |boot_ns| Moment { boot_ns, wall_ms: 0 };
        assert!(!remembered.has_expired(at(day + 4)));
        remembered.expire(at(day + 5));
        assert!(remembered.of("ns/pod-1").is_none() && remembered.of("ns/pod-2").is_some());
        remembered.restart(at(9));
        assert!(!remembered.has_expired(at(day + 8)) && remembered.has_expired(at(day + 9)));
    }
}
