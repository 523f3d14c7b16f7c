//! The networks of the node, each with its book and the policy that serves it.
//!
//! The map is behind a `std::sync::RwLock`, held for a look-up only. Each network has a fair async lock of its own: a
//! policy is called with it held, so a slow policy makes its own network wait and no other.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use tenure_ledger::{Book, Image};
use tenure_types::NetworkName;
use tokio::sync::{Mutex, MutexGuard};

use crate::ports::{Images, Policy};

/// Every network that the ledger has a book of.
#[derive(Default)]
pub(crate) struct Networks(RwLock<BTreeMap<NetworkName, Arc<Slot>>>);

/// One network's place in the map; empty until the network's first record is staged.
#[derive(Default)]
pub(crate) struct Slot(Mutex<Option<Served>>);

/// A network that exists.
pub(crate) struct Served {
    /// Shared with the policy that is being asked, which drops it when it has answered; so changing it copies nothing.
    pub(crate) book: Arc<Book>,
    /// The policy that defined it; `None` from a restart until the first request that needs it.
    pub(crate) policy: Option<Arc<dyn Policy>>,
    /// Shared with each import that is under way.
    pub(crate) imports: Arc<()>,
}

impl Served {
    /// A network with its book, not used yet.
    pub(crate) fn new(book: Book) -> Self {
        Self { book: Arc::new(book), policy: None, imports: Arc::default() }
    }
}

impl Networks {
    pub(crate) fn restore(books: Vec<Book>) -> Self {
        let slot = |book: Book| Arc::new(Slot(Mutex::new(Some(Served::new(book)))));
        let slots = books.into_iter().map(|book| (book.network().name.clone(), slot(book)));
        Self(RwLock::new(slots.collect()))
    }

    pub(crate) fn get(&self, name: &NetworkName) -> Option<Arc<Slot>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub(crate) fn get_or_create(&self, name: &NetworkName) -> Arc<Slot> {
        self.get(name).unwrap_or_else(|| {
            let mut slots = self.0.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(name.clone()).or_default())
        })
    }

    pub(crate) fn all(&self) -> Vec<(NetworkName, Arc<Slot>)> {
        let slots = self.0.read().unwrap_or_else(PoisonError::into_inner);
        slots.iter().map(|(name, slot)| (name.clone(), Arc::clone(slot))).collect()
    }
}

impl Slot {
    pub(crate) async fn lock(&self) -> MutexGuard<'_, Option<Served>> {
        self.0.lock().await
    }

    /// The network, unless somebody else works on it right now.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Option<Served>>> {
        self.0.try_lock().ok()
    }
}

impl Images for Networks {
    fn networks(&self) -> Vec<NetworkName> {
        self.all().into_iter().map(|(name, _)| name).collect()
    }

    fn image(&self, network: &NetworkName) -> Option<Image> {
        let slot = self.get(network)?;
        let served = slot.0.blocking_lock();
        served.as_ref().map(|served| served.book.image())
    }
}
