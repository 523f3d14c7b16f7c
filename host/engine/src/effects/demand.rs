//! Requests that found nothing and wait for their network's supply.
//!
//! A waiting request holds no turn, neither its attachment's nor its network's, and no place: it is counted, and tries again once the
//! supply has changed. Its caller's deadline ends the wait. The map is behind a `std::sync::Mutex`, held to count.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tenure_types::{Error, NetworkName, Result};
use tokio::sync::{Notify, watch};

use crate::lock::hold;

/// The most requests that wait for supply at once; any further one is refused at once.
const MOST: usize = 4_096;

/// The requests that wait for supply.
pub(crate) struct Demands {
    waiting: Mutex<BTreeMap<NetworkName, u32>>,
    /// The networks whose last plan found that nothing can be added.
    full: Mutex<BTreeSet<NetworkName>>,
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
            full: Mutex::default(),
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
        hold(&self.full).contains(network)
    }

    /// What the last plan found. Whoever waits looks again when a supply becomes full, and is refused for good.
    pub(crate) fn found_full(&self, network: &NetworkName, is_full: bool) {
        let changed = {
            let mut full = hold(&self.full);
            match is_full {
                true => full.insert(network.clone()),
                false => full.remove(network),
            }
        };
        if changed && is_full {
            self.supplied();
        }
    }

    /// The requests that wait for a network's supply.
    pub(crate) fn of(&self, network: &NetworkName) -> u32 {
        hold(&self.waiting).get(network).copied().unwrap_or_default()
    }

    /// The requests that wait, by network.
    pub(crate) fn all(&self) -> Vec<Demand> {
        let waiting = hold(&self.waiting);
        waiting
            .iter()
            .map(|(network, waiting)| Demand { network: network.clone(), waiting: *waiting })
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
        let Some(_waiting) = self.enter(network) else { return Err(error) };
        self.arrived.notify_one();
        let mut supplied = self.supplied.subscribe();
        supplied.wait_for(|count| *count != seen).await.map_err(|_| error)?;
        Ok(())
    }

    fn enter<'a>(&'a self, network: &'a NetworkName) -> Option<Waiting<'a>> {
        let mut waiting = hold(&self.waiting);
        let all: usize = waiting.values().map(|count| *count as usize).sum();
        if self.attending.load(Ordering::Relaxed) == 0 || all >= MOST {
            return None;
        }
        *waiting.entry(network.clone()).or_default() += 1;
        Some(Waiting { demands: self, network })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waiting = hold(&self.demands.waiting);
        if let Some(count) = waiting.get_mut(self.network) {
            *count -= 1;
            if *count == 0 {
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
