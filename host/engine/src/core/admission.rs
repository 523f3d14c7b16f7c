//! Admission control: per-attachment ordering, bounds on concurrent and waiting requests, and tombstones.
//!
//! ```text
//! enter ─▶ the attachment's turn ─▶ the network's turn (not here) ─▶ place ─▶ served
//! └───────────── waiting: bounded; no network can fill the queue ──┘
//! ```
//!
//! A place is a slot of the in-flight limit. A request takes its place only once it has its network's turn, so
//! requests that wait behind a slow policy take no places from other networks.
//!
//! The maps are behind a `std::sync::Mutex`, held for a look-up, never across an await.

pub(crate) mod tombstones;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use tenure_types::{Error, ErrorCode, Moment, NetworkName, Owner};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use self::tombstones::{Fate, Key, Tombstones};
use crate::lock::hold;
use crate::ports::{DelRecord, ServedDel};

/// A network may have at most this many times the queue's remaining capacity waiting. A single network can fill three
/// quarters of the queue, and a further network always finds room.
const SHARE: usize = 3;

/// The current load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Requests being served.
    pub in_flight: usize,
    /// Requests waiting for their turn or for a place.
    pub queued: usize,
}

#[derive(Debug)]
pub(crate) struct Admission {
    lines: Mutex<Lines>,
    tombstones: Mutex<Tombstones>,
    /// Record of the DELs for the next engine; not set in a simulation.
    record: OnceLock<Arc<dyn DelRecord>>,
    places: Arc<Semaphore>,
    limits: Mutex<Limits>,
}

/// The limits on concurrent and waiting requests.
#[derive(Debug, Clone, Copy)]
struct Limits {
    in_flight: usize,
    queue: usize,
}

#[derive(Debug, Default)]
struct Lines {
    /// The locks are fair, so requests of one key are served in arrival order.
    turns: HashMap<Key, Arc<tokio::sync::Mutex<()>>>,
    /// The number of waiting requests, by network.
    waiting: HashMap<NetworkName, usize>,
    queued: usize,
    /// The number of places to discard on return, after the in-flight limit was lowered.
    owed: usize,
}

/// A request's turn on its key: no other request works on the key. Once it also has a [`place`](Self::place), it is
/// being served.
#[derive(Debug)]
pub(crate) struct Turn {
    // Declared before `line`, so that it drops first: `line` removes the key's lock only when nobody holds it.
    _guard: OwnedMutexGuard<()>,
    place: Option<OwnedSemaphorePermit>,
    line: Line,
}

impl Admission {
    pub(crate) fn new(in_flight: usize, queue: usize, since: Moment) -> Arc<Self> {
        Arc::new(Self {
            lines: Mutex::default(),
            tombstones: Mutex::new(Tombstones::new(since)),
            record: OnceLock::new(),
            places: Arc::new(Semaphore::new(in_flight)),
            limits: Mutex::new(Limits { in_flight, queue }),
        })
    }

    /// Replaces the limits. When the in-flight limit drops, surplus places are discarded as they are returned.
    pub(crate) fn set_limits(self: &Arc<Self>, in_flight: usize, queue: usize) {
        let before = std::mem::replace(&mut *hold(&self.limits), Limits { in_flight, queue });
        self.places.add_permits(in_flight.saturating_sub(before.in_flight));
        let fewer = before.in_flight.saturating_sub(in_flight);
        let missing = fewer - self.places.forget_permits(fewer);
        hold(&self.lines).owed += missing;
    }

    /// Restores the DELs that earlier engines have served, and records each further one.
    pub(crate) fn remember(
        &self,
        since: Moment,
        dels: impl IntoIterator<Item = ServedDel>,
        record: Arc<dyn DelRecord>,
    ) {
        let dels = dels.into_iter().map(|del| ((del.network, del.owner), del.began, del.served));
        hold(&self.tombstones).restore(since.boot_ns, dels);
        // There is one record for an engine's whole life.
        let _ = self.record.set(record);
    }

    pub(crate) fn load(&self) -> Load {
        Load {
            in_flight: hold(&self.limits).in_flight.saturating_sub(self.places.available_permits()),
            queued: hold(&self.lines).queued,
        }
    }

    /// Waits for the key's turn.
    pub(crate) async fn enter(self: &Arc<Self>, network: &NetworkName, owner: &Owner) -> Result<Turn, Error> {
        let (line, lock) = self.line_up((network.clone(), owner.clone()))?;
        let guard = lock.lock_owned().await;
        Ok(Turn { _guard: guard, place: None, line })
    }

    fn line_up(self: &Arc<Self>, key: Key) -> Result<(Line, Arc<tokio::sync::Mutex<()>>), Error> {
        let queue = hold(&self.limits).queue;
        let mut lines = hold(&self.lines);
        let left = queue.saturating_sub(lines.queued);
        let of_network = lines.waiting.get(&key.0).copied().unwrap_or_default();
        if of_network >= left.saturating_mul(SHARE) {
            let (network, queued) = (&key.0, lines.queued);
            let cause = format_args!(
                "{queued} requests are already waiting, {of_network} of them for network {network}"
            );
            return Err(Error::new(ErrorCode::Overloaded, cause));
        }
        lines.queued += 1;
        lines.waiting.insert(key.0.clone(), of_network + 1);
        let lock = Arc::clone(lines.turns.entry(key.clone()).or_default());
        drop(lines);
        Ok((Line { admission: Arc::clone(self), key, waiting: true }, lock))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.leave_place();
    }
}

impl Turn {
    /// Waits for a place. From then on the request counts as being served, not as waiting.
    pub(crate) async fn place(&mut self) -> Result<(), Error> {
        let place = Arc::clone(&self.line.admission.places)
            .acquire_owned()
            .await
            .map_err(|_| Error::new(ErrorCode::Stopping, "the daemon is stopping"))?;
        self.place = Some(place);
        let admission = Arc::clone(&self.line.admission);
        self.line.served(&mut hold(&admission.lines));
        Ok(())
    }

    /// Returns the place, and keeps the key's turn.
    pub(crate) fn leave_place(&mut self) {
        let Some(place) = self.place.take() else { return };
        let mut lines = hold(&self.line.admission.lines);
        if lines.owed > 0 {
            lines.owed -= 1;
            place.forget();
        }
    }

    /// Records when a DEL of this key began.
    pub(crate) fn bury(&self, began: Moment, now: Moment) {
        let (admission, (network, owner)) = (&self.line.admission, &self.line.key);
        let mut tombstones = hold(&admission.tombstones);
        tombstones.bury(&self.line.key, began, now);
        // With the lock held, so that the record has the same order.
        if let Some(record) = admission.record.get() {
            record.served(network, owner, began, now);
        }
    }

    /// Refuses an ADD that began before a DEL of its key, or so long ago that such a DEL may be forgotten.
    pub(crate) fn check_alive(&self, began: Moment, now: Moment) -> Result<(), Error> {
        let (network, owner) = &self.line.key;
        let fate = hold(&self.line.admission.tombstones).fate(&self.line.key, began, now);
        let why = match fate {
            Fate::Alive => return Ok(()),
            Fate::Overtaken => "a DEL of the same attachment",
            Fate::TooOld => {
                "the oldest DEL that the daemon can remember, so that one may have ended the attachment"
            }
        };
        Err(Error::new(ErrorCode::Superseded, format_args!("ADD of {owner} on {network} began before {why}")))
    }
}

/// A request's entry in the maps. Dropping it removes the entry, also when the caller goes away.
#[derive(Debug)]
struct Line {
    admission: Arc<Admission>,
    key: Key,
    waiting: bool,
}

impl Line {
    fn served(&mut self, lines: &mut Lines) {
        if !std::mem::take(&mut self.waiting) {
            return;
        }
        lines.queued -= 1;
        if let Some(waiting) = lines.waiting.get_mut(&self.key.0) {
            *waiting -= 1;
            if *waiting == 0 {
                lines.waiting.remove(&self.key.0);
            }
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let admission = Arc::clone(&self.admission);
        let mut lines = hold(&admission.lines);
        self.served(&mut lines);
        // Only the map's own reference is left: nobody waits for this key.
        if lines.turns.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            lines.turns.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests;

/// Clamps a caller's start time to now: a start time in the future would make every later ADD of its key fail.
pub(crate) fn not_in_future(began: Moment, now: Moment) -> Moment {
    began.min(now)
}
