//! Executors attend to networks, and hear of the requests that wait for their supply.

use tenure_types::{Error, NetworkName};

use super::HostEffects;
use crate::network::demand::{Attending, Demand};

impl HostEffects {
    /// Serves [`Engine::attend`](crate::Engine::attend).
    pub(crate) fn attend(&self, network: &NetworkName) -> Attending {
        Attending::new(&self.demands, network)
    }

    /// Serves [`Engine::why_waiting`](crate::Engine::why_waiting).
    pub(crate) fn why_waiting(&self, network: &NetworkName) -> Option<Error> {
        self.demands.why(network)
    }

    /// Serves [`Engine::demands`](crate::Engine::demands).
    pub(crate) fn demands(&self) -> Vec<Demand> {
        self.demands.all()
    }
}
