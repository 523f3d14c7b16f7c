//! The networks of the node, each with its book and the policy that serves it.
//!
//! The map is behind a `std::sync::RwLock`, held for a look-up only. Each network has two locks:
//!
//! - A fair async one says whose turn it is. Whoever changes the network or asks its policy has it, so a slow policy makes
//!   its own network wait and no other.
//! - A `std::sync::Mutex` inside of it guards the state, held to look or to change and never across an await. Whoever only
//!   looks takes this one alone: the checkpoint's thread, CHECK and operators never wait for a policy.
//!
//! A policy that is being asked has a share of the book. Nobody changes the book meanwhile, since that takes the turn; so a
//! change copies nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tenure_ledger::{Book, Page};
use tenure_types::{Error, ErrorCode, NetworkName};

use crate::admission::hold;
use crate::bounds::Bounds;
use crate::committer::Committer;
use crate::ports::{Images, Policy};

/// Every network that the ledger has a book of.
pub(crate) struct Networks {
    slots: RwLock<BTreeMap<NetworkName, Arc<Slot>>>,
    /// How many there may be; those that were recovered stay.
    most: AtomicUsize,
    /// Networks that were removed, and where in the log: a snapshot must say so, where the log beside it has facts of them.
    gone: Mutex<BTreeMap<NetworkName, u64>>,
}

/// What snapshots are made of.
pub(crate) struct Snapshots {
    pub(crate) networks: Arc<Networks>,
    pub(crate) committer: Arc<Committer>,
}

/// One network's place in the map; empty until the network's first record is staged.
#[derive(Default)]
pub(crate) struct Slot {
    turn: tokio::sync::Mutex<()>,
    state: Mutex<Option<Served>>,
}

/// A network that exists.
pub(crate) struct Served {
    /// Shared with the policy that is being asked, which drops it when it has answered; so changing it copies nothing.
    pub(crate) book: Arc<Book>,
    /// The policy that defined it; `None` from a restart until the first request that needs it.
    pub(crate) policy: Option<Arc<dyn Policy>>,
    /// Shared with each import that is under way.
    pub(crate) imports: Arc<()>,
    /// The bounds that its ranges were last found to lie in; others make them be looked at again.
    pub(crate) within: Option<Arc<Bounds>>,
}

impl Served {
    /// A network with its book, not used yet.
    pub(crate) fn new(book: Book) -> Self {
        Self { book: Arc::new(book), policy: None, imports: Arc::default(), within: None }
    }
}

/// A network's turn: nobody else changes it. The state is looked at in between.
pub(crate) struct Alone<'slot> {
    slot: &'slot Slot,
    turn: tokio::sync::MutexGuard<'slot, ()>,
}

/// A network's turn together with its state.
pub(crate) struct Held<'slot> {
    // Let go of first, so that whoever has the turn next finds the state free.
    state: MutexGuard<'slot, Option<Served>>,
    turn: tokio::sync::MutexGuard<'slot, ()>,
    slot: &'slot Slot,
}

/// A slot that may have been made for this request; one that is left empty goes with it.
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

    /// Remembers that a network was removed, as of a place in the log, until a snapshot's log begins behind it.
    pub(crate) fn bury(&self, name: &NetworkName, place: u64) {
        hold(&self.gone).insert(name.clone(), place);
    }

    /// The networks that were removed at this place or behind it; the others are forgotten.
    fn gone_since(&self, first: u64) -> Vec<NetworkName> {
        let mut gone = hold(&self.gone);
        gone.retain(|_, place| *place >= first);
        gone.keys().cloned().collect()
    }

    pub(crate) fn get(&self, name: &NetworkName) -> Option<Arc<Slot>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The network's slot, made if need be.
    pub(crate) fn get_or_create(&self, name: &NetworkName) -> Result<Entered<'_>, Error> {
        let slot = match self.get(name) {
            Some(slot) => slot,
            None => {
                let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
                let most = self.most.load(Ordering::Relaxed);
                if slots.len() >= most && !slots.contains_key(name) {
                    let cause = format_args!("network {name} would be one more than {most}");
                    return Err(Error::new(ErrorCode::TooManyNetworks, cause));
                }
                Arc::clone(slots.entry(name.clone()).or_default())
            }
        };
        Ok(Entered { networks: self, name: name.clone(), slot })
    }

    /// The network's slot, if it has one.
    pub(crate) fn known(&self, name: &NetworkName) -> Option<Entered<'_>> {
        Some(Entered { networks: self, name: name.clone(), slot: self.get(name)? })
    }

    /// The names of the networks that exist, in order.
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
        // The map's reference and ours; whoever else has come in does the same behind us.
        if slots.get(&self.name).is_some_and(|slot| Arc::strong_count(slot) <= 2 && slot.state().is_none()) {
            slots.remove(&self.name);
        }
    }
}

impl Slot {
    /// Waits for the network's turn, for whoever is going to wait while having it.
    pub(crate) async fn alone(&self) -> Alone<'_> {
        Alone { slot: self, turn: self.turn.lock().await }
    }

    /// Waits for the network's turn, for whoever changes it and waits for nothing.
    pub(crate) async fn lock(&self) -> Held<'_> {
        self.alone().await.hold()
    }

    /// The network, unless somebody else works on it or is about to.
    pub(crate) fn try_lock(&self) -> Option<Held<'_>> {
        let turn = self.turn.try_lock().ok()?;
        Some(Held { state: self.state(), turn, slot: self })
    }

    /// The state as it is, whoever's turn it is; only to look at it.
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
    /// Lets go of the state and keeps the turn.
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
    /// A network's page of a snapshot; `None` where it never was, or is about to be.
    fn page(&self, name: &NetworkName) -> Option<Page> {
        if let Some(slot) = self.get(name) {
            // A large book takes a moment: where nobody has the turn, whoever comes waits for it asleep.
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
        // Who is removed in between is among the latter.
        let mut names: BTreeSet<NetworkName> = networks.all().into_iter().map(|(name, _)| name).collect();
        names.extend(networks.gone_since(first));
        let books = names.into_iter().filter_map(move |name| networks.page(&name));
        let choices = std::iter::once_with(move || Page::Choices(committer.choices().clone()));
        Box::new(books.chain(choices))
    }
}
