//! Which networks' decisions are recorded, and the way of a decision to the writer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use tenure_types::{NetworkName, hold, hold_exclusive, hold_shared};

use super::following::NetworkFollowing;
use super::queue::{DecisionQueue, PendingDecision};

/// The most decisions that can be kept for a network.
pub const MOST_RECORDED: u32 = 100_000;

/// Records the decisions of some networks. The map is behind a `std::sync::RwLock`, held to look up a name; while no
/// network is recorded, a call only reads an atomic.
#[derive(Debug, Default)]
pub struct Recorder {
    any: AtomicBool,
    networks: RwLock<HashMap<NetworkName, RecordedNetwork>>,
    pub(super) queue: DecisionQueue,
    recorded: AtomicU64,
    dropped: AtomicU64,
}

/// A network whose decisions are recorded.
#[derive(Debug, Clone)]
pub(super) struct RecordedNetwork {
    /// How many decisions are kept at least.
    pub(super) most: u32,
    /// Held while a decision is written down and queued, so that the changes in it follow those in the line before.
    pub(super) following: Arc<Mutex<NetworkFollowing>>,
}

impl Recorder {
    /// Sets how many decisions are kept for each network; without a number, or with 0, none are recorded.
    pub fn set(&self, networks: HashMap<NetworkName, u32>) {
        let mut known = hold_exclusive(&self.networks);
        let recorded = |(network, most): (NetworkName, u32)| {
            let following = known.remove(&network).map(|network| network.following).unwrap_or_default();
            (network, RecordedNetwork { most: most.min(MOST_RECORDED), following })
        };
        *known = networks.into_iter().filter(|(_, most)| *most > 0).map(recorded).collect();
        let any = !known.is_empty();
        self.any.store(any, Ordering::Release);
    }

    /// How many decisions of a network are kept; 0 if it is not recorded.
    #[must_use]
    pub fn most(&self, network: &str) -> u32 {
        let networks = hold_shared(&self.networks);
        networks.get(network).map_or(0, |network| network.most)
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

    /// A network, if its decisions are recorded.
    pub(super) fn recorded(&self, network: &str) -> Option<(NetworkName, RecordedNetwork)> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let networks = hold_shared(&self.networks);
        networks.get_key_value(network).map(|(name, network)| (name.clone(), network.clone()))
    }

    /// Hands a decision to the writer, or drops it; returns whether the writer has it.
    pub(super) fn push(&self, line: PendingDecision) -> bool {
        let has_room = self.queue.push(line);
        if !has_room {
            self.drop_some(1);
        }
        has_room
    }

    /// Lines of a network that the writer had are lost.
    pub(super) fn lost(&self, network: &str) {
        if let Some((_, network)) = self.recorded(network) {
            hold(&network.following).lost();
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
