//! Blocks that are in use in another network than their pool's: the configuration has given the network another name, or the pool to another network,
//! or to none.
//!
//! ```text
//!   a block with ranges in such a network     they drain; its pods keep their addresses
//!   nothing of it is in use there any more    the ranges are withdrawn, and the pool's network may have them
//! ```
//!
//! Until then the block counts as in use: it is neither handed out from, nor given back.

use std::collections::BTreeMap;

use ipnet::IpNet;
use tenure_engine::Supply;
use tenure_leases::agent::ledger::BlockUsage;

use crate::agent::core::AgentCore;
use crate::agent::supply::{drain, withdraw};
use crate::agent::usage::{labelled, usage};

#[cfg(test)]
mod tests;

impl AgentCore {
    /// Lets no more addresses come from blocks in networks that are not their pool's, and notes what is in use there.
    pub(crate) async fn leave_networks(&self) -> tenure_types::Result<()> {
        let leases = self.leases();
        let mut elsewhere: BTreeMap<IpNet, BlockUsage> = BTreeMap::new();
        for network in self.engine.network_names() {
            let is_at_home = |pool: &str| self.settings.network_of(pool) == Some(&network);
            let away = leases.iter().filter(|(_, lease)| !is_at_home(&lease.pool.name));
            let away: Vec<IpNet> = away.map(|(cidr, _)| *cidr).collect();
            if away.is_empty() {
                continue;
            }
            let Some(book) = self.book(&network).await else { continue };
            let mut changes: Vec<Supply> = Vec::new();
            for cidr in away {
                let used = usage(&book, cidr);
                // The ranges of a block that is being given back are its intent's.
                let is_given_back = self.giving_back(cidr).is_some();
                let mut ranges = labelled(&book).filter(|(.., of)| *of == cidr).peekable();
                let has_ranges = ranges.peek().is_some();
                if !has_ranges && used.is_empty() {
                    continue;
                }
                let ranges = ranges.filter(|_| !is_given_back);
                changes.extend(ranges.filter_map(|(pool, view, _)| match used.is_empty() && view.draining {
                    true => Some(withdraw(pool.name.clone(), view.range)),
                    false => (!view.draining).then(|| drain(pool.name.clone(), view.range, true)),
                }));
                // A range that is there may be needed by a request that is under way.
                let used = BlockUsage { under_way: used.under_way.max(u32::from(has_ranges)), ..used };
                let sum = elsewhere.entry(cidr).or_default();
                *sum = sum.and(used);
            }
            drop(book);
            if let Some(why) = self.supplied(&network, &changes).await? {
                tracing::warn!(%network, why, "ranges of a pool that is another network's cannot be drained or withdrawn yet");
            }
        }
        self.state().elsewhere = elsewhere;
        Ok(())
    }
}
