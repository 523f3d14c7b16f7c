//! Removing networks that have no allocations.

use tenure_ledger::{ChoiceFact, Fact, LedgerFact};
use tenure_types::{Error, ErrorCode, NetworkName, Result};

use crate::delegates::given::reopened;
use crate::engine::Engine;
use crate::import::gate::ended_elsewhere;
use crate::network::slot::Served;
use crate::policy::states::forgotten;
use crate::ports::Ticket;

impl Engine {
    /// Removes a network that has no allocations; durable when this returns. Returns whether the network existed.
    ///
    /// # Errors
    /// `NetworkInUse` when it has allocations, an unfinished import or unfinished effects, `OutOfBounds` when the daemon's configuration
    /// defines it.
    pub async fn remove_network(&self, network: &NetworkName, apply: bool) -> Result<bool> {
        self.core.observed("remove", network, None, self.serve_remove(network, apply)).await
    }

    async fn serve_remove(&self, name: &NetworkName, apply: bool) -> Result<bool> {
        self.core.bounds().check_operator(name)?;
        let (existed, ticket) = match self.core.networks.known(name) {
            None => self.removed_before(),
            Some(slot) => self.stage_removal(name, &mut *slot.lock().await, apply)?,
        };
        if let Some(ticket) = ticket {
            ticket.durable().await?;
        }
        Ok(existed)
    }

    /// There is no such network; its removal may not be durable yet.
    fn removed_before(&self) -> (bool, Option<Ticket>) {
        (false, Some(self.core.ports.journal.barrier()))
    }

    /// Stages a network's removal; without `apply`, only checks it. Returns whether the network existed, and what to wait for.
    fn stage_removal(
        &self,
        name: &NetworkName,
        state: &mut Option<Served>,
        apply: bool,
    ) -> Result<(bool, Option<Ticket>)> {
        let Some(served) = state.as_mut() else { return Ok(self.removed_before()) };
        let held = served.book.allocations().len();
        if held > 0 || served.book.is_importing() {
            let cause = match held {
                0 => format!(
                    "an import of network {name} has not finished; repeat it, or end it with `tenurectl import abandon {name}`"
                ),
                held => format!("network {name} has {held} live allocations"),
            };
            return Err(Error::new(ErrorCode::NetworkInUse, cause));
        }
        let open = self.core.committer.node().effects.of(name).len();
        if open > 0 {
            let cause = format_args!("{open} effects of network {name} are under way");
            return Err(Error::new(ErrorCode::NetworkInUse, cause));
        }
        if !apply {
            return Ok((true, None));
        }
        self.core.ports.journal.health()?;
        let (network, at) = (name.clone(), self.core.now());
        let removed = LedgerFact::Removed { network: network.clone(), at };
        let mut facts: Vec<Fact> = vec![ChoiceFact::Forgotten { network, at }.into(), removed.into()];
        {
            let node = self.core.committer.node();
            facts.extend(forgotten(&node.states, name, at).map(Fact::from));
            facts.extend(reopened(&node.delegations, name));
            // Its sources stay: the other IPAM may serve the network for a while.
            facts.extend(ended_elsewhere(&served.book, &node.moves, at));
        }
        let (_, ticket) = self.core.committer.commit(&mut served.book, &facts)?;
        self.core.networks.removed_one();
        *state = None;
        // If its callers ask again, they are told again.
        self.imports.is_accounted_for(name);
        tracing::info!(network = %name, "removed a network");
        Ok((true, Some(ticket)))
    }
}
