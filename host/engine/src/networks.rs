//! The node's networks, each with its book and the policy that serves it.
//!
//! The map is behind a `std::sync::RwLock`, held only for a look-up. Each network has two locks:
//!
//! - The turn, a fair async lock. Changing the network or calling its policy requires it, so a slow policy delays
//!   only its own network.
//! - A `std::sync::Mutex` around the state, held to read or to change it, never across an await. Readers take only
//!   this lock: the checkpoint's thread, CHECK and operators never wait for a policy.
//!
//! A policy shares the book (an `Arc`) during a call. Nobody changes the book meanwhile, because that requires the
//! turn; so a change never copies the book.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tenure_ledger::{Book, Page};
use tenure_types::{Error, ErrorCode, NetworkName};

use crate::bounds::Bounds;
use crate::committer::Committer;
use crate::lock::hold;
use crate::ports::{Images, Policy};

/// All networks that have a book.
pub(crate) struct Networks {
    slots: RwLock<BTreeMap<NetworkName, Arc<Slot>>>,
    /// The maximum number of networks; recovered ones stay even if they exceed it.
    most: AtomicUsize,
    /// Removed networks, with the place of the removal in the log. A snapshot must list those that its log still has
    /// facts of.
    gone: Mutex<BTreeMap<NetworkName, u64>>,
}

/// The source of the snapshots' pages.
pub(crate) struct Snapshots {
    pub(crate) networks: Arc<Networks>,
    pub(crate) committer: Arc<Committer>,
}

/// One network's entry in the map; empty until the network's first fact is staged.
#[derive(Default)]
pub(crate) struct Slot {
    turn: tokio::sync::Mutex<()>,
    state: Mutex<Option<Served>>,
}

/// The state of an existing network.
pub(crate) struct Served {
    /// Shared with a policy during a call, which drops it before it answers; so changing it copies nothing.
    pub(crate) book: Arc<Book>,
    /// The policy that serves it; `None` from a restart until the first request that needs it.
    pub(crate) policy: Option<Arc<dyn Policy>>,
    /// Shared with each import in progress; the reference count tells whether there is one.
    pub(crate) imports: Arc<()>,
    /// The bounds that the network last passed; under any other bounds it is checked again.
    pub(crate) within: Option<Arc<Bounds>>,
}

impl Served {
    /// A network with this book, no policy and no imports.
    pub(crate) fn new(book: Book) -> Self {
        Self { book: Arc::new(book), policy: None, imports: Arc::default(), within: None }
    }
}

/// A network's turn: nobody else changes the network. The state can still be read by others.
pub(crate) struct Alone<'slot> {
    slot: &'slot Slot,
    turn: tokio::sync::MutexGuard<'slot, ()>,
}

/// A network's turn together with its locked state.
pub(crate) struct Held<'slot> {
    // Dropped first, so that the next one in turn finds the state unlocked.
    state: MutexGuard<'slot, Option<Served>>,
    turn: tokio::sync::MutexGuard<'slot, ()>,
    slot: &'slot Slot,
}

/// A slot that may have been created for this request. If it is still empty on drop, it is removed.
pub(crate) struct Entered<'networks> {
    networks: &'networks Networks,
    name: NetworkName,
    pub(crate) slot: Arc<Slot>,
}

impl Networks {
    pub(crate) fn restore(books: Vec<Book>, most: usize) -> Self {
        let slot = |book: Book| {
            let state = Mutex::new(Some(Served::new(book)));
            Arc::new(Slot { turn: tokio::sync::Mutex::default(), state })
        };
        let slots = books.into_iter().map(|book| (book.network().name.clone(), slot(book)));
        let (slots, most) = (RwLock::new(slots.collect()), AtomicUsize::new(most));
        Self { slots, most, gone: Mutex::default() }
    }

    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Records that a network was removed at a place in the log, until a snapshot's log begins after that place.
    pub(crate) fn bury(&self, name: &NetworkName, place: u64) {
        hold(&self.gone).insert(name.clone(), place);
    }

    /// The networks removed at or after this place; forgets the others.
    fn gone_since(&self, first: u64) -> Vec<NetworkName> {
        let mut gone = hold(&self.gone);
        gone.retain(|_, place| *place >= first);
        gone.keys().cloned().collect()
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
                let most = self.most.load(Ordering::Relaxed);
                if slots.len() >= most && !slots.contains_key(name) {
                    let cause = format_args!("cannot create network {name}: the limit is {most} networks");
                    return Err(Error::new(ErrorCode::TooManyNetworks, cause));
                }
                Arc::clone(slots.entry(name.clone()).or_default())
            }
        };
        Ok(Entered { networks: self, name: name.clone(), slot })
    }

    /// The network's slot, if there is one.
    pub(crate) fn known(&self, name: &NetworkName) -> Option<Entered<'_>> {
        Some(Entered { networks: self, name: name.clone(), slot: self.get(name)? })
    }

    /// The names of the existing networks, in order.
    pub(crate) fn names(&self) -> Vec<NetworkName> {
        self.all().into_iter().filter(|(_, slot)| slot.state().is_some()).map(|(name, _)| name).collect()
    }

    pub(crate) fn all(&self) -> Vec<(NetworkName, Arc<Slot>)> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.iter().map(|(name, slot)| (name.clone(), Arc::clone(slot))).collect()
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
        // At most the map's reference and this one. Any other holder does the same check when it drops its own.
        if slots.get(&self.name).is_some_and(|slot| Arc::strong_count(slot) <= 2 && slot.state().is_none()) {
            slots.remove(&self.name);
        }
    }
}

impl Slot {
    /// Waits for the network's turn, for a caller that awaits something during it.
    pub(crate) async fn alone(&self) -> Alone<'_> {
        Alone { slot: self, turn: self.turn.lock().await }
    }

    /// Waits for the network's turn and locks the state, for a caller that awaits nothing meanwhile.
    pub(crate) async fn lock(&self) -> Held<'_> {
        self.alone().await.hold()
    }

    /// Takes the turn and locks the state, unless somebody else has the turn or waits for it.
    pub(crate) fn try_lock(&self) -> Option<Held<'_>> {
        let turn = self.turn.try_lock().ok()?;
        Some(Held { state: self.state(), turn, slot: self })
    }

    /// Locks the state without the turn, for reading only.
    pub(crate) fn state(&self) -> MutexGuard<'_, Option<Served>> {
        hold(&self.state)
    }
}

impl<'slot> Alone<'slot> {
    pub(crate) fn state(&self) -> MutexGuard<'slot, Option<Served>> {
        self.slot.state()
    }

    pub(crate) fn hold(self) -> Held<'slot> {
        Held { state: self.slot.state(), turn: self.turn, slot: self.slot }
    }
}

impl<'slot> Held<'slot> {
    /// Unlocks the state and keeps the turn.
    pub(crate) fn look(self) -> Alone<'slot> {
        Alone { slot: self.slot, turn: self.turn }
    }
}

impl Deref for Held<'_> {
    type Target = Option<Served>;

    fn deref(&self) -> &Option<Served> {
        &self.state
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Option<Served> {
        &mut self.state
    }
}

impl Networks {
    /// A network's page of a snapshot; `None` if the network has no state yet and was not removed.
    fn page(&self, name: &NetworkName) -> Option<Page> {
        if let Some(slot) = self.get(name) {
            // Imaging a large book takes a moment. With the turn taken, newcomers await the turn instead of blocking
            // a thread on the state's mutex.
            let _turn = slot.turn.try_lock();
            if let Some(served) = slot.state().as_ref() {
                return Some(Page::Book(Box::new(served.book.image())));
            }
        }
        let through = hold(&self.gone).get(name).copied()?;
        Some(Page::Gone { network: name.clone(), through })
    }
}

impl Images for Snapshots {
    fn pages(&self, first: u64) -> Box<dyn Iterator<Item = Page> + Send> {
        let (networks, committer) = (Arc::clone(&self.networks), Arc::clone(&self.committer));
        // A network removed between the two calls is in the second list.
        let mut names: BTreeSet<NetworkName> = networks.all().into_iter().map(|(name, _)| name).collect();
        names.extend(networks.gone_since(first));
        let books = names.into_iter().filter_map(move |name| networks.page(&name));
        let choices = std::iter::once_with(move || Page::Choices(committer.choices().clone()));
        Box::new(books.chain(choices))
    }
}
