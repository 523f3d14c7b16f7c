//! Keeping in the ledger which pods the node's pools are for: their selectors, and which pools are kept for claims.

use tenure_types::{Attributes, Object, PoolName, Result, agreed};

use crate::agent::core::AgentCore;
use crate::agent::settings::{PoolFamily, cluster_pool};
use crate::objects::node::PoolSettings;
use crate::pools::rules_object;

impl AgentCore {
    /// Keeps what the operator has told, where the ledger has something else or nothing.
    pub(crate) async fn keep_selectors(&self) -> Result<()> {
        let told: Vec<PoolSettings> = {
            let state = self.state();
            let pools =
                state.object.iter().flat_map(|object| &object.status).flat_map(|status| &status.pools);
            // Those in force: what a deposed operator tells is older.
            pools.filter_map(|pool| state.in_force.get(&pool.uid.parse().ok()?)).cloned().collect()
        };
        let selectors = told.iter().filter_map(|pool| {
            rules_object(pool)
                .inspect_err(|error| {
                    tracing::error!(pool = pool.name, %error, "cannot keep the selectors of an AddressPool");
                })
                .ok()
        });
        let kept = told.iter().filter(|pool| pool.for_claims).flat_map(kept_pools);
        let known = self.engine.objects();
        let is_news = |object: &Object| known.iter().all(|known| **known != *object);
        let news: Vec<Object> = selectors.chain(kept).filter(is_news).collect();
        // A pool of the same name that was made again may be for everybody, once no address of the one before is here.
        let leases = self.leases();
        let is_left =
            |name: &str| leases.values().any(|lease| lease.turn.is_some() && *lease.pool.name == *name);
        let is_for_all =
            |name: &str| told.iter().any(|pool| pool.name == name && !pool.for_claims) && !is_left(name);
        let is_over = |object: &Object| {
            let pool = PoolName::new(object.name.as_str()).ok();
            let pool = pool.as_ref().and_then(cluster_pool);
            object.kind == agreed::KEPT_POOL && pool.is_some_and(|(name, _)| is_for_all(name))
        };
        let over = known.iter().filter(|object| is_over(object));
        let over: Vec<_> = over.map(|object| (object.kind.clone(), object.name.clone())).collect();
        if news.is_empty() && over.is_empty() {
            return Ok(());
        }
        self.engine.objects_seen(&news, &over).await
    }
}

/// Whether the ledger knows that one of the engine's pools is kept for claims.
pub(crate) fn is_kept<'a>(mut objects: impl Iterator<Item = &'a Object>, pool: &PoolName) -> bool {
    objects.any(|object| object.kind == agreed::KEPT_POOL && object.name == pool.as_str())
}

/// The objects of a pool for claims: one for each of the engine's pools that may stand for it.
fn kept_pools(pool: &PoolSettings) -> impl Iterator<Item = Object> {
    let name = pool.name.clone();
    [PoolFamily::Ipv4, PoolFamily::Ipv6].into_iter().map(move |family| Object {
        kind: agreed::KEPT_POOL.to_owned(),
        name: format!("{name}{}", family.suffix()),
        attributes: Attributes::default(),
    })
}
