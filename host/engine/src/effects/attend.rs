//! Executors attend to networks, and hear of the requests that wait for their supply.

use tenure_ledger::Book;
use tenure_types::{Error, ErrorCode, NetworkName};

use super::HostEffects;
use crate::network::demand::{Attending, Demand};
use crate::network::slot::Alone;

impl HostEffects {
    /// Serves [`Engine::attend`](crate::Engine::attend).
    pub(crate) fn attend(&self, network: &NetworkName) -> Attending {
        Attending::new(&self.demands, network)
    }

    /// Serves [`Engine::wake_for_room`](crate::Engine::wake_for_room).
    pub(crate) async fn wake_for_room(&self, network: &NetworkName) {
        if self.demands.of(network) == 0 {
            return;
        }
        let Some(slot) = self.core.networks.known(network) else { return };
        let alone = slot.alone().await;
        self.wake(&alone, network);
    }

    /// The same, for a caller that has the network's turn.
    pub(super) fn wake(&self, alone: &Alone<'_>, network: &NetworkName) {
        if self.demands.of(network) == 0 {
            return;
        }
        let now = self.core.now();
        let has_room = alone.state().as_mut().is_some_and(|served| {
            self.core.expire(served, now);
            has_room(&served.book)
        });
        if has_room {
            self.demands.supplied(network);
        }
    }

    /// Serves [`Engine::why_waiting`](crate::Engine::why_waiting).
    pub(crate) fn why_waiting(&self, network: &NetworkName) -> Option<Error> {
        self.demands.why(network)
    }

    /// Serves [`Engine::supply_lacks`](crate::Engine::supply_lacks).
    pub(crate) fn supply_lacks(&self, network: &NetworkName, why: &str) {
        self.demands.found(network, Some(&Error::new(ErrorCode::NotYet, why)));
    }

    /// Whether an executor attends to a network.
    pub(crate) fn is_attended(&self, network: &NetworkName) -> bool {
        self.demands.is_attended(network)
    }

    /// Serves [`Engine::demands`](crate::Engine::demands).
    pub(crate) fn demands(&self) -> Vec<Demand> {
        self.demands.all()
    }
}

/// Whether a pool has an address to hand out.
fn has_room(book: &Book) -> bool {
    (0..book.pools().len()).any(|index| !book.is_exhausted(index))
}
