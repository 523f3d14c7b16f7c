//! What whoever carries effects out hears of the requests that wait.

use tenure_types::{Error, NetworkName};

use super::demand::{Attending, Demand};
use crate::engine::Engine;

impl Engine {
    /// Announces that somebody carries out effects: requests that find nothing yet wait from now on.
    #[must_use]
    pub fn attend(&self) -> Attending {
        Attending::new(&self.demands)
    }

    /// Waits until a request begins to wait for supply. One call is told of each that began since the last.
    pub async fn demanded(&self) {
        self.demands.arrived().await;
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
