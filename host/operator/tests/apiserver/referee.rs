//! The referee, which knows every agent's ledger.

use std::collections::BTreeMap;

use anyhow::ensure;
use ipnet::IpNet;

use crate::agent::TestAgent;

/// The referee: no address is in usable blocks of two nodes, none in use is another's, and none that is excluded is in use.
pub(crate) fn referee(agents: &[TestAgent]) -> anyhow::Result<usize> {
    let mut all = Vec::new();
    for agent in agents {
        for cidr in agent.usable() {
            all.push((cidr.parse::<IpNet>()?, &agent.identity.name));
        }
    }
    all.sort();
    for pair in all.windows(2) {
        // Sorted blocks overlap only if neighbours do.
        ensure!(!pair[0].0.contains(&pair[1].0.network()), "addresses are usable twice: {pair:?}");
    }
    let mut owners = BTreeMap::new();
    for agent in agents {
        for address in &agent.given {
            let other = owners.insert(*address, &agent.identity.name);
            ensure!(other.is_none(), "{address} is in use on {other:?} and {}", agent.identity.name);
            ensure!(!agent.is_excluded(*address), "{address} is excluded, and in use");
        }
    }
    Ok(all.len())
}
