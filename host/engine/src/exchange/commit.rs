//! The exchange of a network's policy: all of it is durable, or none of it is in force.

use std::sync::Arc;

use tenure_ledger::{Choice, ChoiceFact, Defined, Fact, LedgerFact, PolicyState, StepKind};
use tenure_types::{Definer, Definition, NetworkConfig, NetworkName, Result};

use super::PolicyExchange;
use crate::network::redefine::{Redefined, Wanted};
use crate::network::slot::{Alone, Served};
use crate::policy::states::{forgotten, undone};
use crate::ports::Ticket;

/// The network before an exchange, to return to if the exchange cannot be made durable.
struct Before(Option<Network>);

struct Network {
    choice: Choice,
    config: Arc<NetworkConfig>,
    definition: Definition,
    definer: Definer,
    state: Option<PolicyState>,
}

impl Before {
    /// The present state of a network.
    fn of(served: Option<&Served>, choice: Option<Choice>, state: Option<PolicyState>) -> Self {
        Self(served.zip(choice).map(|(served, choice)| {
            let network = served.book.network();
            let (config, definer) = (Arc::clone(&network.config), network.defined_by);
            Network { choice, config, definition: served.book.definition(), definer, state }
        }))
    }
}

impl PolicyExchange {
    /// Replaces a network's policy, or applies another definition; durable when this returns. The network's turn is kept
    /// until then, so that no request is served by a policy that may not stay.
    pub(crate) async fn exchange(
        &self,
        alone: Alone<'_>,
        name: &NetworkName,
        mut wanted: Wanted,
        change_ranges: bool,
    ) -> Result<Redefined> {
        let definition = self.core.defined(name, &wanted).await?;
        let inherited = self.core.inherited(&alone, name, &mut wanted).await?;
        let (redefined, before, ticket, alone) = {
            let defining = self.core.defining();
            let mut state = alone.hold();
            let mut redefined = self.core.compare(state.as_ref(), name, &wanted, &definition)?;
            redefined.changed |= inherited.is_some();
            self.core.check_change(name, &redefined, state.is_some(), change_ranges)?;
            self.core.ports.journal.health()?;
            let remembered = self.present_state(name);
            let before = Before::of(state.as_ref(), self.core.committer.choice(name), remembered);
            let ticket = self.core.redefine(&defining, &mut state, name, &wanted, &definition, inherited)?;
            if let Some(served) = state.as_mut() {
                served.policy = Some(wanted.policy);
            }
            (redefined, before, ticket, state.look())
        };
        self.durable_or_undone(&alone, name, before, ticket).await?;
        Ok(redefined)
    }

    /// Waits until an exchange is durable; if that fails, returns to what was before. The caller has kept the network's
    /// turn since the exchange.
    async fn durable_or_undone(
        &self,
        alone: &Alone<'_>,
        name: &NetworkName,
        before: Before,
        ticket: Ticket,
    ) -> Result<()> {
        let Err(error) = ticket.durable().await else { return Ok(()) };
        tracing::error!(network = %name, %error, "undoing an exchange that could not be made durable");
        // No need to wait for the ticket: later facts are staged after it, and a restart finds either both or neither.
        match before.0 {
            Some(before) => drop(self.put_back(alone, name, before)?),
            None => self.take_back(alone, name)?,
        }
        Err(error)
    }

    fn present_state(&self, name: &NetworkName) -> Option<PolicyState> {
        self.core.committer.node().states.of(name).map(|memory| memory.now.clone())
    }

    fn put_back(&self, alone: &Alone<'_>, name: &NetworkName, before: Network) -> Result<Option<Ticket>> {
        let mut state = alone.state();
        let Some(served) = state.as_mut() else { return Ok(None) };
        let Network { choice, config, definition, definer, state: remembered } = before;
        let mut facts: Vec<Fact> = Vec::new();
        if self.core.committer.choice(name).is_some_and(|now| now != choice) {
            self.core.ports.observer.policy_step(name, StepKind::Undone);
            facts.push(ChoiceFact::Undone { network: name.clone(), choice, at: self.core.now() }.into());
        }
        let defined = Defined { config: &config, definition: &definition, by: definer };
        let changes =
            served.book.redefine(defined, self.core.now()).map_err(crate::core::committer::defect)?;
        facts.extend(changes.into_iter().map(Fact::from));
        if let Some(remembered) =
            remembered.filter(|before| self.present_state(name).as_ref() != Some(before))
        {
            if facts.iter().all(|fact| !matches!(fact, Fact::Choices(_))) {
                let why = "the state could not be made durable".to_owned();
                facts.push(self.core.step(name, &remembered.policy, StepKind::Undone, why).into());
            }
            facts.push(undone(&self.core.committer.node().states, name, remembered).into());
        }
        (served.policy, served.watch) = (None, None);
        if facts.is_empty() {
            return Ok(None);
        }
        self.core.committer.commit(&mut served.book, &facts).map(|(_, ticket)| Some(ticket))
    }

    /// Removes a network that did not exist before. Nobody has had the network's turn since, so it holds nothing.
    fn take_back(&self, alone: &Alone<'_>, name: &NetworkName) -> Result<()> {
        let mut state = alone.state();
        let Some(served) = state.as_mut() else { return Ok(()) };
        let (network, at) = (name.clone(), self.core.now());
        let removed = LedgerFact::Removed { network: network.clone(), at };
        let remembered = forgotten(&self.core.committer.node().states, name, at).map(Fact::from);
        let mut facts: Vec<Fact> = vec![ChoiceFact::Forgotten { network, at }.into(), removed.into()];
        facts.extend(remembered);
        drop(self.core.committer.commit(&mut served.book, &facts)?);
        self.core.networks.removed_one();
        *state = None;
        Ok(())
    }
}
