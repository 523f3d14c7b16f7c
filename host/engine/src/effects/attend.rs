//! Executors attend to networks, and hear of the requests that wait for their supply.

use tenure_types::{Error, NetworkName};

use crate::engine::Engine;
use crate::network::demand::{Attending, Demand};

impl Engine {
    /// Announces an executor of a network's effects: requests of that network that find nothing yet wait from now on. The network need not
    /// exist yet.
    #[must_use]
    pub fn attend(&self, network: &NetworkName) -> Attending {
        Attending::new(&self.demands, network)
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
