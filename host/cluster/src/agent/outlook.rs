//! The cluster as a plan sees it: the pre-allocation, the operator's word about the pools, and for how long blocks have been empty.

use tenure_engine::Outlook;
use tenure_ledger::Book;
use tenure_types::{Attributes, InvalidAttributes, Object, agreed};

use crate::agent::core::AgentCore;

/// The longest message of the operator that is passed on, in characters.
const LONGEST_MESSAGE: usize = 120;

/// The reason for which no block of a pool comes that has no addresses of the family.
const NO_FAMILY: &str = "NoSuchFamily";

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
