//! The node's networks by name, and those that were removed.
//!
//! The map is behind a `std::sync::RwLock`, held only for a look-up; each network's [`Slot`] has locks of its own.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tenure_ledger::{Book, Page};
use tenure_types::{Error, ErrorCode, NetworkName};

use super::slot::Slot;

/// All networks that have a book.
pub(crate) struct Networks {
    slots: RwLock<BTreeMap<NetworkName, Arc<Slot>>>,
    /// The maximum number of networks; recovered ones stay even if they exceed it.
    most: AtomicUsize,
    removals: AtomicU64,
}

/// A slot that may have been created for this request. If it is still empty on drop, it is removed.
pub(crate) struct Entered<'networks> {
    networks: &'networks Networks,
    name: NetworkName,
    pub(crate) slot: Arc<Slot>,
}

impl Networks {
    pub(crate) fn restore(books: Vec<Book>, most: usize) -> Self {
        let slots = books.into_iter().map(|book| (book.network().name.clone(), Arc::new(Slot::of(book))));
        let (slots, most) = (RwLock::new(slots.collect()), AtomicUsize::new(most));
        Self { slots, most, removals: AtomicU64::new(0) }
    }

    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Counts a removal.
    pub(crate) fn removed_one(&self) {
        self.removals.fetch_add(1, Ordering::Relaxed);
    }

    /// How many networks were removed since the start.
    pub(crate) fn removals(&self) -> u64 {
        self.removals.load(Ordering::Relaxed)
    }

    pub(crate) fn get(&self, name: &NetworkName) -> Option<Arc<Slot>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The network's slot, created if necessary.
    pub(crate) fn get_or_create(&self, name: &NetworkName) -> Result<Entered<'_>, Error> {
        let slot = match self.get(name) {
            Some(slot) => slot,
            None => {
                let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
                self.check_number(&mut slots, name)?;
                Arc::clone(slots.entry(name.clone()).or_default())
            }
        };
        Ok(Entered { networks: self, name: name.clone(), slot })
    }

    /// Refuses a network beyond the limit.
    pub(crate) fn check_room(&self, name: &NetworkName) -> Result<(), Error> {
        self.check_number(&mut self.slots.write().unwrap_or_else(PoisonError::into_inner), name)
    }

    fn check_number(
        &self,
        slots: &mut BTreeMap<NetworkName, Arc<Slot>>,
        name: &NetworkName,
    ) -> Result<(), Error> {
        let most = self.most.load(Ordering::Relaxed);
        if slots.len() >= most {
            // A slot stays empty in the map if somebody looked at it when its last request ended.
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.state().is_some());
        }
        if slots.len() < most || slots.contains_key(name) {
            return Ok(());
        }
        let cause = format_args!("cannot create network {name}: the limit is {most} networks");
        Err(Error::new(ErrorCode::TooManyNetworks, cause))
    }

    /// The network's slot, if there is one.
    pub(crate) fn known(&self, name: &NetworkName) -> Option<Entered<'_>> {
        Some(Entered { networks: self, name: name.clone(), slot: self.get(name)? })
    }

    /// The names of the existing networks, in order.
    pub(crate) fn names(&self) -> Vec<NetworkName> {
        self.all().into_iter().filter(|(_, slot)| slot.state().is_some()).map(|(name, _)| name).collect()
    }

    /// A network's page of a snapshot; `None` if the network has no state.
    pub(crate) fn page(&self, name: &NetworkName) -> Option<Page> {
        let image = self.get(name)?.image()?;
        Some(Page::Book(Box::new(image)))
    }

    pub(crate) fn all(&self) -> Vec<(NetworkName, Arc<Slot>)> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.iter().map(|(name, slot)| (name.clone(), Arc::clone(slot))).collect()
    }
}

impl Entered<'_> {
    /// The network's name.
    pub(crate) fn name(&self) -> &NetworkName {
        &self.name
    }
}

impl Deref for Entered<'_> {
    type Target = Slot;

    fn deref(&self) -> &Slot {
        &self.slot
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.slot.state().is_some() {
            return;
        }
        let mut slots = self.networks.slots.write().unwrap_or_else(PoisonError::into_inner);
        // At most the map's reference and this one. Another request does the same check when it drops its own; what only looks at the slot does not.
        if slots.get(&self.name).is_some_and(|slot| Arc::strong_count(slot) <= 2 && slot.state().is_none()) {
            slots.remove(&self.name);
        }
    }
}

pub(crate) fn unknown_network(name: &NetworkName) -> Error {
    Error::new(ErrorCode::UnknownNetwork, format_args!("no network {name} on this node"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> NetworkName {
        NetworkName::new(name).unwrap()
    }

    #[test]
    fn a_slot_that_stayed_empty_takes_no_networks_place() {
        let networks = Networks::restore(vec![], 1);
        let entered = networks.get_or_create(&name("refused")).unwrap();
        assert!(networks.get_or_create(&name("other")).is_err(), "it may become a network yet");
        let looked_at = networks.all();
        drop(entered);
        drop(looked_at);
        assert!(networks.check_room(&name("other")).is_ok());
        assert!(networks.get_or_create(&name("other")).is_ok());
        assert!(networks.all().is_empty());
    }
}
