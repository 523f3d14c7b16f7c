//! The cluster as a plan sees it: the pre-allocation, the operator's word about the pools, and for how long blocks have been empty.

use std::collections::BTreeSet;

use tenure_engine::Outlook;
use tenure_ledger::{Book, Shelf};
use tenure_types::{Attributes, InvalidAttributes, Object, Pool, PoolName, agreed};

use crate::agent::core::AgentCore;
use crate::agent::settings::{PoolFamily, cluster_pool};
use crate::agent::state::AgentState;

/// The longest message of the operator that is passed on, in characters.
const LONGEST_MESSAGE: usize = 120;

/// The reason for which no block of a pool comes that has no addresses of the family.
const NO_FAMILY: &str = "NoSuchFamily";

/// The reason for which no block of a pool comes that is not for this node.
const NOT_ADMITTED: &str = "NotAdmitted";

impl AgentCore {
    /// Notes the pools of which no block is to come, because another pool of their network has the family, or is for this node: they are not exhausted.
    pub(crate) async fn note_unsupplied(&self) {
        for network in self.settings.networks.keys() {
            let Some(book) = self.book(network).await else { continue };
            let pools = unsupplied(&self.state(), &book);
            self.engine.supplies_none(network, pools);
        }
    }
}

fn unsupplied(state: &AgentState, book: &Book) -> BTreeSet<PoolName> {
    let total = |index| book.usage(Shelf::whole(index)).total;
    let families = |index: usize, pool: &Pool| {
        cluster_pool(&pool.name).filter(|_| total(index) > 0).map(|(_, family)| family)
    };
    let pools = || book.pools().iter().enumerate();
    let served: BTreeSet<PoolFamily> = pools().filter_map(|(index, pool)| families(index, pool)).collect();
    let is_for_others = |index: usize, pool: &PoolName| {
        let is_served = cluster_pool(pool).is_some_and(|(_, family)| served.contains(&family));
        let is_told = || state.pool_waits_for(pool).is_some_and(|(reason, _)| reason == NOT_ADMITTED);
        total(index) == 0 && is_served && is_told()
    };
    let none =
        pools().filter(|(index, pool)| state.lacks_family(&pool.name) || is_for_others(*index, &pool.name));
    none.map(|(_, pool)| pool.name.clone()).collect()
}

/// The outlook of a network.
pub(crate) fn outlook(core: &AgentCore, book: &Book) -> Result<Outlook, InvalidAttributes> {
    let now = core.now();
    let state = core.state();
    let settings = &core.settings;
    let attributes = Attributes::new([
        ("preallocation", settings.preallocation.to_string()),
        ("release.seconds", settings.release_seconds.to_string()),
    ])?;
    let mut objects = Vec::new();
    for pool in book.pools() {
        if state.lacks_family(&pool.name) {
            let attributes = Attributes::new([("reason", NO_FAMILY)])?;
            objects.push(Object { kind: "pool".to_owned(), name: pool.name.to_string(), attributes });
            continue;
        }
        let told = state.wants.contains_key(&pool.name).then(|| state.pool_waits_for(&pool.name));
        let Some((reason, message)) = told.flatten() else { continue };
        let message: String =
            message.chars().filter(|letter| !letter.is_control()).take(LONGEST_MESSAGE).collect();
        let attributes = Attributes::new([("reason", &reason), ("message", &message)])?;
        objects.push(Object { kind: "pool".to_owned(), name: pool.name.to_string(), attributes });
    }
    for (cidr, since) in &state.idle_since {
        let seconds = now.saturating_sub(*since).as_secs().to_string();
        let attributes = Attributes::new([("idle.seconds", seconds)])?;
        objects.push(Object { kind: agreed::BLOCK.to_owned(), name: cidr.to_string(), attributes });
    }
    Ok(Outlook { objects, attributes })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tenure_leases::Uid;
    use tenure_ledger::Defined;
    use tenure_types::{DefinedPool, Definer, Definition, Moment, NetworkName, Range};

    use super::*;

    /// Regression: each node had the condition `supply-exhausted` for the pool of another zone.
    #[test]
    fn a_pool_that_is_not_for_the_node_is_to_supply_none_where_another_serves() {
        let pool = |name: &str, range: Option<&str>| {
            let range = range.map(|cidr| {
                Range::new(cidr.parse().unwrap(), [10, 0, 0, 1].into(), [10, 0, 0, 9].into(), None, 24)
            });
            let ranges = range.map(Result::unwrap).into_iter().collect();
            DefinedPool { pool: Pool::new(PoolName::new(name).unwrap()), ranges }
        };
        let waits = |pool: &str, family: &str, reason: &str| json!({ "pool": pool, "poolUID": Uid(7).to_string(), "family": family, "reason": reason, "message": "" });
        let waiting = [
            waits("here", "IPv4", "NotAdmitted"),
            waits("there", "IPv4", "NotAdmitted"),
            waits("there", "IPv6", "NotAdmitted"),
            waits("full", "IPv4", "PoolExhausted"),
        ];
        let spec =
            json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
        let object = json!({ "metadata": { "name": "n1" }, "spec": spec, "status": { "waiting": waiting } });
        let mut state = AgentState::default();
        state.see(Some(serde_json::from_value(object).unwrap()));
        let pools = vec![
            pool("here.v4", Some("10.0.0.0/24")),
            pool("there.v4", None),
            // Nothing else serves the family.
            pool("there.v6", None),
            pool("full.v4", None),
        ];
        let definition = Definition { pools, ..Definition::default() };
        let defined =
            Defined { config: &Arc::default(), definition: &definition, by: Definer::Configuration };
        let book = Book::defined(&NetworkName::new("pods").unwrap(), defined, Moment::default()).unwrap();
        assert_eq!(unsupplied(&state, &book), [PoolName::new("there.v4").unwrap()].into());
    }
}
