//! How many addresses of each network are in use, or cannot be used yet.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tenure_types::NetworkName;

use super::labels::{Name, NetworkLabels};
use super::saturating;

/// A network as of a scrape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkFigures {
    /// The network.
    pub network: NetworkName,
    /// How many live allocations it has.
    pub allocations: usize,
    /// How many of its addresses are cooling down.
    pub cooling: usize,
    /// How many of its addresses are in quarantine.
    pub quarantined: usize,
}

#[derive(Debug, Default)]
pub(super) struct NetworkGauges {
    allocations: Family<NetworkLabels, Gauge>,
    cooling: Family<NetworkLabels, Gauge>,
    quarantined: Family<NetworkLabels, Gauge>,
}

impl NetworkGauges {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("allocations", "Live allocations", self.allocations.clone());
        registry.register("addresses_cooling", "Freed addresses that are cooling down", self.cooling.clone());
        registry.register(
            "addresses_quarantined",
            "Addresses in quarantine: given to nobody, or of an owner that may be gone",
            self.quarantined.clone(),
        );
    }

    pub(super) fn set(&self, networks: impl IntoIterator<Item = NetworkFigures>) {
        for family in [&self.allocations, &self.cooling, &self.quarantined] {
            family.clear();
        }
        for NetworkFigures { network, allocations, cooling, quarantined } in networks {
            let labels = NetworkLabels { network: Name(network) };
            self.allocations.get_or_create(&labels).set(saturating(allocations));
            self.cooling.get_or_create(&labels).set(saturating(cooling));
            self.quarantined.get_or_create(&labels).set(saturating(quarantined));
        }
    }
}
