//! Requests that found nothing and wait for their network's supply.
//!
//! A waiting request holds no turn, neither its attachment's nor its network's, and no place: it is counted, and tries again once the
//! supply has changed. Its caller's deadline ends the wait. The map is behind a `std::sync::Mutex`, held to count.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tenure_types::{Error, ErrorCode, NetworkName, Result};
use tokio::sync::{Notify, watch};

use crate::lock::hold;

/// The most requests that wait for supply at once; any further one is refused at once.
const MOST: usize = 4_096;

/// The requests that wait for supply.
pub(crate) struct Demands {
    waiting: Mutex<BTreeMap<NetworkName, Queue>>,
    /// Of the networks whose last plan could not do what is wanted: why.
    lacks: Mutex<BTreeMap<NetworkName, Error>>,
    /// How many carry effects out; while nobody does, nobody waits.
    attending: AtomicUsize,
    arrived: Notify,
    /// Counts the changes of any network's supply.
    supplied: watch::Sender<u64>,
}

/// The requests that wait for a network's supply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// The network.
    pub network: NetworkName,
    /// How many.
    pub waiting: u32,
}

/// Those that wait for a network's supply.
struct Queue {
    length: u32,
    /// Why the last of them found nothing.
    why: Error,
}

/// Somebody carries out effects, until this is dropped.
pub struct Attending(Arc<Demands>);

/// A request that waits, until this is dropped.
struct Waiting<'a> {
    demands: &'a Demands,
    network: &'a NetworkName,
}

impl Default for Demands {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            lacks: Mutex::default(),
            attending: AtomicUsize::default(),
            arrived: Notify::new(),
            supplied: watch::Sender::new(0),
        }
    }
}

impl Demands {
    /// What the supply is now; to be taken before a request looks for an address.
    pub(crate) fn seen(&self) -> u64 {
        *self.supplied.borrow()
    }

    /// Some network's supply has changed.
    pub(crate) fn supplied(&self) {
        self.supplied.send_modify(|count| *count += 1);
    }

    /// Whether the last plan found that nothing can be added to a network's supply.
    pub(crate) fn is_full(&self, network: &NetworkName) -> bool {
        hold(&self.lacks).get(network).is_some_and(is_full)
    }

    /// What the last plan found lacking. Whoever waits looks again when a supply becomes full, and is refused for good.
    pub(crate) fn found(&self, network: &NetworkName, lack: Option<&Error>) {
        let before = {
            let mut lacks = hold(&self.lacks);
            match lack {
                Some(lack) => lacks.insert(network.clone(), lack.clone()),
                None => lacks.remove(network),
            }
        };
        if lack.is_some_and(is_full) && !before.as_ref().is_some_and(is_full) {
            self.supplied();
        }
    }

    /// The requests that wait for a network's supply.
    pub(crate) fn of(&self, network: &NetworkName) -> u32 {
        hold(&self.waiting).get(network).map_or(0, |queue| queue.length)
    }

    /// Why requests wait for a network's supply, if any does: what the last of them was told, and what the last plan lacked.
    pub(crate) fn why(&self, network: &NetworkName) -> Option<Error> {
        let refusal = hold(&self.waiting).get(network)?.why.clone();
        let cause = match hold(&self.lacks).get(network) {
            Some(lack) => format!("{}; {}", refusal.cause, lack.cause),
            None => refusal.cause,
        };
        Some(Error::new(refusal.code, cause))
    }

    /// The requests that wait, by network.
    pub(crate) fn all(&self) -> Vec<Demand> {
        let waiting = hold(&self.waiting);
        waiting
            .iter()
            .map(|(network, queue)| Demand { network: network.clone(), waiting: queue.length })
            .collect()
    }

    /// Waits until a request begins to wait.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Waits until any supply is other than was seen.
    ///
    /// # Errors
    /// The error itself if nobody carries effects out, or if too many wait already.
    pub(crate) async fn wait(&self, network: &NetworkName, seen: u64, error: Error) -> Result<()> {
        let Some(_waiting) = self.enter(network, &error) else { return Err(error) };
        self.arrived.notify_one();
        let mut supplied = self.supplied.subscribe();
        supplied.wait_for(|count| *count != seen).await.map_err(|_| error)?;
        Ok(())
    }

    fn enter<'a>(&'a self, network: &'a NetworkName, why: &Error) -> Option<Waiting<'a>> {
        let mut waiting = hold(&self.waiting);
        let all: usize = waiting.values().map(|queue| queue.length as usize).sum();
        if self.attending.load(Ordering::Relaxed) == 0 || all >= MOST {
            return None;
        }
        let queue = waiting.entry(network.clone()).or_insert_with(|| Queue { length: 0, why: why.clone() });
        queue.length += 1;
        queue.why.clone_from(why);
        Some(Waiting { demands: self, network })
    }
}

fn is_full(lack: &Error) -> bool {
    lack.code == ErrorCode::PoolExhausted
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waiting = hold(&self.demands.waiting);
        if let Some(queue) = waiting.get_mut(self.network) {
            queue.length -= 1;
            if queue.length == 0 {
                waiting.remove(self.network);
            }
        }
    }
}

impl Attending {
    /// From now on, somebody carries effects out.
    pub(crate) fn new(demands: &Arc<Demands>) -> Self {
        demands.attending.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(demands))
    }
}

impl Drop for Attending {
    fn drop(&mut self) {
        self.0.attending.fetch_sub(1, Ordering::Relaxed);
        // Whoever waits looks again, and is refused.
        self.0.supplied();
    }
}
