//! Looking up the cluster's pools in the API server: those that are not known, those that the operator says are gone, and those that may have got or
//! lost a family since they were read.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_effects::budget::Jitter;

use crate::agent::accepting::AgentError;
use crate::agent::core::AgentCore;
use crate::agent::fetch;
use crate::agent::settings::{PoolFamily, cluster_pool};

impl AgentCore {
    /// Looks up the pools that are sought.
    pub(crate) async fn look_up_pools(&self, jitter: &mut Jitter) -> Result<(), AgentError> {
        let now = self.now();
        for name in self.sought_pools(now).await {
            self.state().pool_looks.note(name, now, jitter);
            let pool = fetch::pool(&self.client, name).await?;
            let mut state = self.state();
            match pool {
                Some(pool) => {
                    // Its exclusions come with the operator's hints.
                    state.pools.insert(name.to_owned(), pool);
                }
                None => {
                    state.pools.remove(name);
                }
            }
        }
        Ok(())
    }

    /// The pools that are to be looked up now.
    async fn sought_pools(&self, now: Duration) -> Vec<&str> {
        let mut families = Vec::new();
        for name in self.settings.pools() {
            families.push((name, self.families_of(name).await));
        }
        let demands = self.engine.demands();
        let is_awaited = |pool: &str| {
            let network = self.settings.network_of(pool);
            demands.iter().any(|demand| network == Some(&demand.network))
        };
        let mut state = self.state();
        let is_sought = |(name, families): &(&str, BTreeSet<PoolFamily>)| {
            state.is_gone(name) || state.may_have_got(name, families) || state.may_have_lost(name)
        };
        let sought: Vec<&str> = families.iter().filter(|of| is_sought(of)).map(|(name, _)| *name).collect();
        state.pool_looks.retain(&sought);
        let is_due = |name: &&str| !state.pool_looks.is_early(name, is_awaited(name), now);
        sought.into_iter().filter(is_due).collect()
    }

    /// The families that the network of a pool wants of it.
    async fn families_of(&self, pool: &str) -> BTreeSet<PoolFamily> {
        let Some(book) = self.book_of(pool).await else { return BTreeSet::new() };
        let named = book.pools().iter().filter_map(|known| cluster_pool(&known.name));
        named.filter(|(name, _)| *name == pool).map(|(_, family)| family).collect()
    }
}
