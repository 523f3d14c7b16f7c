//! One network: its book and the policy that serves it, behind two locks.
//!
//! - The turn, a fair async lock. Changing the network or calling its policy requires it, so a slow policy delays
//!   only its own network.
//! - A `std::sync::Mutex` around the state, held to read or to change it, never across an await. Readers take only
//!   this lock: the checkpoint's thread, CHECK and operators never wait for a policy.
//!
//! A policy shares the book (an `Arc`) during a call. Nobody changes the book meanwhile, because that requires the
//! turn; so a change never copies the book.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

use tenure_ledger::{Book, Image};
use tenure_types::Error;

use super::bounds::Bounds;
use crate::core::committer::defect;
use crate::lock::hold;
use crate::policy::watch::Watch;
use crate::ports::Policy;

pub(crate) fn no_book() -> Error {
    defect("a defined network has no book")
}

/// One network's entry in the map; empty until the network's first fact is staged.
#[derive(Default)]
pub(crate) struct Slot {
    /// Shared with the holder of the turn, so that it can outlive the request that took it.
    turn: Arc<tokio::sync::Mutex<()>>,
    state: Mutex<Option<Served>>,
    /// Taken for reading while it is recorded that the network's delegate is about to be asked, and for writing while the
    /// delegate is told which attachments are valid: it must not free what it gives to others meanwhile.
    pub(crate) asking: tokio::sync::RwLock<()>,
}

/// The state of an existing network.
pub(crate) struct Served {
    /// Shared with a policy during a call, which drops it before it answers; so changing it copies nothing.
    pub(crate) book: Arc<Book>,
    /// The policy that serves it; `None` from a restart until the first request that needs it.
    pub(crate) policy: Option<Arc<dyn Policy>>,
    /// For each source, a value shared with each import in progress from it; the reference count tells whether there is one.
    imports: BTreeMap<Arc<str>, Arc<()>>,
    /// The bounds that the network last passed; under any other bounds it is checked again.
    pub(crate) within: Option<Arc<Bounds>>,
    /// The count of the watch over the present policy; `None` if it is not watched, or has not been looked at since a
    /// restart.
    pub(crate) watch: Option<Watch>,
}

impl Served {
    /// A network with this book, no policy and no imports.
    pub(crate) fn new(book: Book) -> Self {
        Self { book: Arc::new(book), policy: None, imports: BTreeMap::new(), within: None, watch: None }
    }

    /// Whether an import is in progress.
    pub(crate) fn has_imports(&self) -> bool {
        self.imports.values().any(|import| Arc::strong_count(import) > 1)
    }

    /// Whether an import from this source is in progress.
    pub(crate) fn is_importing_from(&self, source: &str) -> bool {
        self.imports.get(source).is_some_and(|import| Arc::strong_count(import) > 1)
    }

    /// Begins an import from a source; it is in progress for as long as the returned value exists.
    pub(crate) fn import_from(&mut self, source: &Arc<str>) -> Arc<()> {
        self.imports.retain(|_, import| Arc::strong_count(import) > 1);
        Arc::clone(self.imports.entry(Arc::clone(source)).or_default())
    }
}

/// A network's turn: nobody else changes the network. The state can still be read by others.
pub(crate) struct Alone<'slot> {
    slot: &'slot Slot,
    turn: Turn,
}

/// A network's turn, apart from its slot.
pub(crate) type Turn = tokio::sync::OwnedMutexGuard<()>;

/// A network's turn together with its locked state.
pub(crate) struct Held<'slot> {
    // Dropped first, so that the next one in turn finds the state unlocked.
    state: MutexGuard<'slot, Option<Served>>,
    turn: Turn,
    slot: &'slot Slot,
}

impl Slot {
    /// The slot of an existing network.
    pub(crate) fn of(book: Book) -> Self {
        Self { state: Mutex::new(Some(Served::new(book))), ..Self::default() }
    }

    /// Waits for the network's turn, for a caller that awaits something during it.
    pub(crate) async fn alone(&self) -> Alone<'_> {
        Alone { slot: self, turn: Arc::clone(&self.turn).lock_owned().await }
    }

    /// Waits for the network's turn and locks the state, for a caller that awaits nothing meanwhile.
    pub(crate) async fn lock(&self) -> Held<'_> {
        self.alone().await.hold()
    }

    /// Locks the state, for a caller that has kept the network's turn.
    pub(crate) fn resume(&self, turn: Turn) -> Held<'_> {
        Held { state: self.state(), turn, slot: self }
    }

    /// Takes the turn, unless somebody else has it or waits for it.
    pub(crate) fn try_alone(&self) -> Option<Alone<'_>> {
        let turn = Arc::clone(&self.turn).try_lock_owned().ok()?;
        Some(Alone { slot: self, turn })
    }

    /// Takes the turn and locks the state, unless somebody else has the turn or waits for it.
    pub(crate) fn try_lock(&self) -> Option<Held<'_>> {
        self.try_alone().map(Alone::hold)
    }

    /// Locks the state without the turn, for reading only.
    pub(crate) fn state(&self) -> MutexGuard<'_, Option<Served>> {
        hold(&self.state)
    }

    /// The network's image for a snapshot; `None` if the network has no state yet.
    pub(crate) fn image(&self) -> Option<Image> {
        // Imaging a large book takes a moment, in which requests are served: a change of the book then copies what it changes.
        let book = self.state().as_ref().map(|served| Arc::clone(&served.book))?;
        Some(book.image())
    }
}

impl<'slot> Alone<'slot> {
    pub(crate) fn state(&self) -> MutexGuard<'slot, Option<Served>> {
        self.slot.state()
    }

    /// The turn, to be kept beyond the request.
    pub(crate) fn into_turn(self) -> Turn {
        self.turn
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
