//! Executors attend to networks, and hear of the requests that wait for their supply.

use tenure_ledger::Book;
use tenure_types::{Error, NetworkName};

use super::demand::{Attending, Demand};
use crate::engine::Engine;
use crate::slot::Alone;

impl Engine {
    /// Announces an executor of a network's effects: requests of that network that find nothing yet wait from now on. The network need not
    /// exist yet.
    #[must_use]
    pub fn attend(&self, network: &NetworkName) -> Attending {
        Attending::new(&self.demands, network)
    }

    /// Frees what has cooled down in a network, and has requests that wait for its supply look again if there is an address to hand out.
    pub async fn wake_for_room(&self, network: &NetworkName) {
        if self.demands.of(network) == 0 {
            return;
        }
        let Some(slot) = self.networks.known(network) else { return };
        let alone = slot.alone().await;
        self.wake(&alone, network);
    }

    /// The same, for whoever has the network's turn.
    pub(super) fn wake(&self, alone: &Alone<'_>, network: &NetworkName) {
        if self.demands.of(network) == 0 {
            return;
        }
        let now = self.now();
        let has_room = alone.state().as_mut().is_some_and(|served| {
            self.expire(served, now);
            has_room(&served.book)
        });
        if has_room {
            self.demands.supplied(network);
        }
    }

    /// Why requests wait for a network's supply, in the words of the policy and of its last plan; `None` if none waits.
    #[must_use]
    pub fn why_waiting(&self, network: &NetworkName) -> Option<Error> {
        self.demands.why(network)
    }

    /// The networks for whose supply requests wait.
    #[must_use]
    pub fn demands(&self) -> Vec<Demand> {
        self.demands.all()
    }
}

/// Whether a pool has an address to hand out.
fn has_room(book: &Book) -> bool {
    (0..book.pools().len()).any(|index| !book.is_exhausted(index))
}
