//! Blocks that no network of the node can hand out: the configuration has taken the pool, or one of its families, out of its network.
//!
//! No plan offers such a block, and nothing replaces it. Once it has been empty and like that for the time after which a plan offers one, the node gives it
//! up, as it does with a block that it cannot use. Until then, a mistake in the configuration costs nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use ipnet::IpNet;

use crate::agent::accepting::AgentError;
use crate::agent::core::AgentCore;
use crate::agent::records::HeldLease;
use crate::agent::usage::labelled;

#[cfg(test)]
mod tests;

impl AgentCore {
    /// Gives up the blocks that have been unneeded for long enough.
    pub(crate) async fn give_up_unneeded(&self) -> Result<(), AgentError> {
        let mut unneeded: BTreeMap<IpNet, HeldLease> = BTreeMap::new();
        for (cidr, lease) in self.leases() {
            if self.is_unneeded(&lease).await {
                unneeded.insert(cidr, lease);
            }
        }
        let (now, delay) = (self.now(), Duration::from_secs(self.settings.release_seconds.into()));
        {
            let mut state = self.state();
            state.unneeded_since.retain(|cidr, _| unneeded.contains_key(cidr));
            unneeded.retain(|cidr, _| {
                let since = *state.unneeded_since.entry(*cidr).or_insert(now);
                now.saturating_sub(since) >= delay
            });
        }
        for (cidr, lease) in unneeded {
            tracing::info!(block = %cidr, pool = %lease.pool.name, "a block is given up, since no network hands out its addresses");
            self.bury(lease.uid).await?;
            self.forget(&lease.name).await?;
        }
        Ok(())
    }

    /// Whether a block is empty, and no network can hand out addresses of it. Of a network that is not defined yet, that is not known.
    async fn is_unneeded(&self, lease: &HeldLease) -> bool {
        if lease.turn.is_some() || self.drains(lease) || self.giving_back(lease.cidr()).is_some() {
            return false;
        }
        let book = self.book_of(&lease.pool.name).await;
        let is_handed_out = match &book {
            // A version before may have left its ranges with another pool.
            Some(book) => lease.is_wanted_in(book) || labelled(book).any(|(.., of)| of == lease.cidr()),
            None => self.settings.network_of(&lease.pool.name).is_some(),
        };
        !is_handed_out && self.row(lease, book.as_deref()).usage.is_empty()
    }
}
