//! The size and the use of each pool, by network and pool: what capacity is planned with.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tenure_types::{NetworkName, PoolName};

use super::labels::{Name, PoolLabels};
use super::saturating;

/// A pool as of a scrape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolFigures {
    /// The network.
    pub network: NetworkName,
    /// The pool.
    pub pool: PoolName,
    /// How many addresses of it can be assigned at all.
    pub size: u128,
    /// How many of them somebody holds.
    pub held: u32,
    /// How many of them are cooling down.
    pub cooling: u32,
}

#[derive(Debug, Default)]
pub(super) struct PoolGauges {
    size: Family<PoolLabels, Gauge>,
    held: Family<PoolLabels, Gauge>,
    cooling: Family<PoolLabels, Gauge>,
}

impl PoolGauges {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "pool_addresses",
            "Addresses of a pool that can be assigned; 2^63-1 means that many or more",
            self.size.clone(),
        );
        registry.register("pool_held", "Addresses of a pool that are held", self.held.clone());
        registry.register("pool_cooling", "Addresses of a pool that are cooling down", self.cooling.clone());
    }

    pub(super) fn set(&self, pools: impl IntoIterator<Item = PoolFigures>) {
        for family in [&self.size, &self.held, &self.cooling] {
            family.clear();
        }
        for PoolFigures { network, pool, size, held, cooling } in pools {
            let labels = PoolLabels { network: Name(network), pool: Name(pool) };
            self.size.get_or_create(&labels).set(saturating(size));
            self.held.get_or_create(&labels).set(i64::from(held));
            self.cooling.get_or_create(&labels).set(i64::from(cooling));
        }
    }
}
