//! Who may come in, and in which order: per-attachment turns, a bound on what is under way, and tombstones.
//!
//! A tombstone remembers when a DEL of a key began. Runtimes kill a slow ADD and send DEL at once, so the ADD that is
//! still on its way in must not succeed behind the DEL's back. Nothing is known of the DELs of an engine before this one.
//!
//! The two maps are behind a `std::sync::Mutex`, held for a look-up and never across an await.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_types::{Error, ErrorCode, Moment, NetworkName, Owner};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// How long a DEL is remembered; an ADD that began longer ago than this is refused as well, so nothing slips through.
pub(crate) const TOMBSTONE_LIFE: Duration = Duration::from_secs(600);

type Key = (NetworkName, Owner);

/// What is under way right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Requests that are being served.
    pub in_flight: usize,
    /// Requests that wait for their turn or for a place.
    pub queued: usize,
}

#[derive(Debug)]
pub(crate) struct Admission {
    /// The key's lock is fair, so requests of one key are served in the order in which they came.
    turns: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>,
    tombstones: Mutex<Tombstones>,
    /// Since when DELs are remembered.
    since: Moment,
    places: Arc<Semaphore>,
    in_flight: usize,
    queue: usize,
    queued: AtomicUsize,
}

#[derive(Debug, Default)]
struct Tombstones {
    began: HashMap<Key, u64>,
    oldest_first: VecDeque<(Moment, Key)>,
}

/// A request's turn: nobody else works on its key, and it has one of the places.
#[derive(Debug)]
pub(crate) struct Turn {
    admission: Arc<Admission>,
    key: Key,
    guard: Option<OwnedMutexGuard<()>>,
    _place: OwnedSemaphorePermit,
}

impl Admission {
    pub(crate) fn new(in_flight: usize, queue: usize, since: Moment) -> Arc<Self> {
        Arc::new(Self {
            turns: Mutex::default(),
            tombstones: Mutex::default(),
            since,
            places: Arc::new(Semaphore::new(in_flight)),
            in_flight,
            queue,
            queued: AtomicUsize::new(0),
        })
    }

    pub(crate) fn load(&self) -> Load {
        Load {
            in_flight: self.in_flight.saturating_sub(self.places.available_permits()),
            queued: self.queued.load(Ordering::Relaxed),
        }
    }

    /// Waits for the key's turn and then for a place.
    pub(crate) async fn enter(self: &Arc<Self>, network: &NetworkName, owner: &Owner) -> Result<Turn, Error> {
        let key = (network.clone(), owner.clone());
        let waiting = Waiting::new(self)?;
        let lock = Arc::clone(hold(&self.turns).entry(key.clone()).or_default());
        let guard = Some(lock.lock_owned().await);
        let place = Arc::clone(&self.places)
            .acquire_owned()
            .await
            .map_err(|_| Error::new(ErrorCode::NotReady, "the daemon is stopping"))?;
        drop(waiting);
        Ok(Turn { admission: Arc::clone(self), key, guard, _place: place })
    }
}

impl Turn {
    /// Remembers that a DEL of this key began at a moment.
    pub(crate) fn bury(&self, began: Moment, now: Moment) {
        let mut tombstones = hold(&self.admission.tombstones);
        let began_at = tombstones.began.entry(self.key.clone()).or_default();
        *began_at = (*began_at).max(began.boot_ns);
        tombstones.oldest_first.push_back((now, self.key.clone()));
        tombstones.forget(now);
    }

    /// Refuses an ADD that began before a DEL of its key, or before what is remembered of DELs begins.
    pub(crate) fn check_alive(&self, began: Moment, now: Moment) -> Result<(), Error> {
        let age = now.since(began);
        let buried = hold(&self.admission.tombstones).began.get(&self.key).copied();
        let remembered = age < TOMBSTONE_LIFE && began.boot_ns >= self.admission.since.boot_ns;
        if remembered && buried.is_none_or(|buried| began.boot_ns > buried) {
            return Ok(());
        }
        let (network, owner) = &self.key;
        Err(Error::new(
            ErrorCode::Superseded,
            format_args!(
                "ADD of {owner} on {network} began before a DEL of the same attachment, or could have"
            ),
        ))
    }
}

impl Tombstones {
    fn forget(&mut self, now: Moment) {
        while let Some((buried_at, _)) = self.oldest_first.front() {
            if now.since(*buried_at) < TOMBSTONE_LIFE {
                break;
            }
            if let Some((buried_at, key)) = self.oldest_first.pop_front()
                && self.began.get(&key).is_some_and(|began| *began <= buried_at.boot_ns)
            {
                self.began.remove(&key);
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.guard = None;
        let mut turns = hold(&self.admission.turns);
        // The map's own reference is the last: nobody waits for this key.
        if turns.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            turns.remove(&self.key);
        }
    }
}

/// Counts a request as queued for as long as it lives, also when its caller goes away meanwhile.
struct Waiting<'a>(&'a Admission);

impl<'a> Waiting<'a> {
    fn new(admission: &'a Admission) -> Result<Self, Error> {
        if admission.queued.fetch_add(1, Ordering::Relaxed) >= admission.queue {
            admission.queued.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::new(
                ErrorCode::Overloaded,
                format_args!("{} requests are waiting already", admission.queue),
            ));
        }
        Ok(Self(admission))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.queued.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Locks a map. A panic while it was held cannot have left it half-changed, so poison is no reason to stop.
pub(crate) fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
