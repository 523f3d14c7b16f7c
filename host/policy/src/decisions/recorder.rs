//! Which networks' decisions are recorded, and the way of a decision to the writer.

use std::collections::HashMap;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tenure_types::{NetworkName, hold_exclusive, hold_shared};

use super::queue::{DecisionQueue, PendingDecision};

/// The most decisions that can be kept for a network.
pub const MOST_RECORDED: u32 = 100_000;

/// Records the decisions of some networks. The map is behind a `std::sync::RwLock`, held to look up a name; while no
/// network is recorded, a call only reads an atomic.
#[derive(Debug, Default)]
pub struct Recorder {
    any: AtomicBool,
    networks: RwLock<HashMap<NetworkName, u32>>,
    pub(super) queue: DecisionQueue,
    recorded: AtomicU64,
    dropped: AtomicU64,
}

impl Recorder {
    /// Sets how many decisions are kept for each network; without a number, or with 0, none are recorded.
    pub fn set(&self, networks: HashMap<NetworkName, u32>) {
        let networks: HashMap<_, _> = networks.into_iter().filter(|(_, most)| *most > 0).collect();
        let any = !networks.is_empty();
        *hold_exclusive(&self.networks) = networks;
        self.any.store(any, Ordering::Release);
    }

    /// How many decisions of a network are kept; 0 if it is not recorded.
    #[must_use]
    pub fn most(&self, network: &str) -> u32 {
        let networks = hold_shared(&self.networks);
        networks.get(network).map_or(0, |most| (*most).min(MOST_RECORDED))
    }

    /// The number of decisions written so far, and of those that were dropped.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.recorded.load(Ordering::Relaxed), self.dropped.load(Ordering::Relaxed))
    }

    /// Ends the writer once it has written what waits.
    pub fn close(&self) {
        self.queue.close();
    }

    /// A network's name, if its decisions are recorded.
    pub(super) fn recorded(&self, network: &str) -> Option<NetworkName> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let networks = hold_shared(&self.networks);
        networks.get_key_value(network).map(|(network, _)| network.clone())
    }

    /// Hands a decision to the writer, or drops it.
    pub(super) fn push(&self, network: NetworkName, body: Vec<u8>) {
        if !self.queue.push(PendingDecision { network, body }) {
            self.drop_some(1);
        }
    }

    /// Counts decisions that were written.
    pub(super) fn wrote(&self, decisions: u64) {
        self.recorded.fetch_add(decisions, Ordering::Relaxed);
    }

    /// Counts decisions that were dropped.
    pub(super) fn drop_some(&self, decisions: u64) {
        self.dropped.fetch_add(decisions, Ordering::Relaxed);
    }
}
