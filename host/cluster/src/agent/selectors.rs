//! Keeping the selectors of the node's pools in the ledger.

use tenure_types::{Object, Result};

use crate::agent::core::AgentCore;
use crate::pools::rules_object;

impl AgentCore {
    /// Keeps the selectors that the operator has told, where the ledger has others or none.
    pub(crate) async fn keep_selectors(&self) -> Result<()> {
        let told: Vec<Object> = {
            let state = self.state();
            let pools =
                state.object.iter().flat_map(|object| &object.status).flat_map(|status| &status.pools);
            let objects = pools.filter_map(|pool| {
                // Those in force: what a deposed operator tells is older.
                let in_force = state.in_force.get(&pool.uid.parse().ok()?)?;
                let kept = rules_object(in_force);
                if let Err(error) = &kept {
                    tracing::error!(pool = pool.name, %error, "cannot keep the selectors of an AddressPool");
                }
                kept.ok()
            });
            objects.collect()
        };
        let known = self.engine.objects();
        let news: Vec<Object> =
            told.into_iter().filter(|object| known.iter().all(|known| **known != *object)).collect();
        if news.is_empty() {
            return Ok(());
        }
        self.engine.objects_seen(&news, &[]).await
    }
}
