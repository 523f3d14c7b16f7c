//! The exchange of a network's policy: all of it is durable, or none of it is in force.

use std::sync::Arc;

use tenure_ledger::{Choice, ChoiceFact, Chooser, Defined, Fact, LedgerFact, PolicyState, StepKind};
use tenure_types::{Definer, Definition, NetworkConfig, NetworkName, Result};

use crate::engine::Engine;
use crate::ports::{Policy, Ticket};
use crate::redefine::{Redefined, Staged, Wanted};
use crate::slot::{Alone, Served, Slot};
use crate::states::{forgotten, undone};

/// Who exchanges a policy, and why.
pub(super) struct Reason {
    pub(super) by: Chooser,
    /// In words; may be empty.
    pub(super) why: String,
}

/// What a network had before an exchange, to return to if the exchange cannot be made durable.
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

/// An exchange that can begin: nobody else changes the network, and the policy has defined it.
pub(crate) struct Prepared<'slot> {
    pub(crate) alone: Alone<'slot>,
    pub(crate) wanted: Wanted,
    pub(crate) definition: Definition,
}

impl Engine {
    /// Prepares the exchange of the policy of a network that exists, which keeps its configuration.
    ///
    /// The policy is asked before the network's turn, so that no request waits for it; again only if what it was asked
    /// about has changed meanwhile.
    pub(super) async fn prepare<'slot>(
        &self,
        (name, slot): (&NetworkName, &'slot Slot),
        policy: Arc<dyn Policy>,
        Reason { by, why }: Reason,
        empty_state: bool,
    ) -> Result<Prepared<'slot>> {
        let present = || {
            let network = slot.state().as_ref().map(|served| Arc::clone(served.book.network()));
            network.ok_or_else(|| Self::unknown_network(name))
        };
        let (before, bounds) = (present()?, self.bounds());
        let (config, definer) = (Arc::clone(&before.config), before.defined_by);
        let mut wanted = Wanted { policy, by, why, empty_state, config, definer };
        let definition = self.defined(name, &wanted).await;
        let alone = slot.alone().await;
        let now = present()?;
        (wanted.config, wanted.definer) = (Arc::clone(&now.config), now.defined_by);
        let is_as_before = now.config == before.config && Arc::ptr_eq(&bounds, &self.bounds());
        let definition = if is_as_before { definition? } else { self.defined(name, &wanted).await? };
        Ok(Prepared { alone, wanted, definition })
    }

    /// Replaces a network's policy, or applies another definition; durable when this returns.
    ///
    /// An exchange that changes nothing but the policy gives up the network's turn as soon as it is staged, so that no
    /// request waits for its sync. Requests are decided by the new policy at once, but none of them is answered before the
    /// exchange is durable; if it cannot be made durable, they fail and are undone, each by itself, as well as the exchange.
    ///
    /// All others keep the turn until they are durable: to undo them changes the book that requests are decided on, or the
    /// state that they are decided with.
    pub(crate) async fn exchange(
        &self,
        prepared: Prepared<'_>,
        name: &NetworkName,
        change_ranges: bool,
    ) -> Result<Redefined> {
        let Prepared { alone, mut wanted, definition } = prepared;
        let inherited = self.inherited(&alone, name, &mut wanted).await?;
        let is_plain = !wanted.policy.keeps_state() && wanted.policy.delegate().is_none();
        let (redefined, before, staged, alone) = {
            let defining = self.defining();
            let mut state = alone.hold();
            let redefined = self.compare(state.as_ref(), name, &wanted, &definition)?;
            self.check_change(name, &redefined, state.is_some(), change_ranges)?;
            self.ports.journal.health()?;
            let remembered = self.present_state(name);
            let before = Before::of(state.as_ref(), self.committer.choice(name), remembered);
            let staged = self.redefine(&defining, &mut state, name, &wanted, &definition, inherited)?;
            if let Some(served) = state.as_mut() {
                served.policy = Some(wanted.policy);
            }
            (redefined, before, staged, state.look())
        };
        let Staged { ticket, keeps_book } = staged;
        let (error, alone) = if is_plain && keeps_book {
            let exchange = alone.go_ahead(ticket);
            let Err(error) = exchange.durable().await else { return Ok(redefined) };
            (error, exchange.back().await)
        } else {
            let Err(error) = ticket.durable().await else { return Ok(redefined) };
            (error, alone)
        };
        tracing::error!(network = %name, %error, "undoing an exchange that could not be made durable");
        // No need to wait for the ticket: whatever follows is staged after it, and a restart finds either both or neither.
        match before.0 {
            Some(before) => drop(self.put_back(&alone, name, before)?),
            None => self.take_back(&alone, name)?,
        }
        Err(error)
    }

    fn present_state(&self, name: &NetworkName) -> Option<PolicyState> {
        self.committer.node().states.of(name).map(|memory| memory.now.clone())
    }

    fn put_back(&self, alone: &Alone<'_>, name: &NetworkName, before: Network) -> Result<Option<Ticket>> {
        let mut state = alone.state();
        let Some(served) = state.as_mut() else { return Ok(None) };
        let Network { choice, config, definition, definer, state: remembered } = before;
        let mut facts: Vec<Fact> = Vec::new();
        if self.committer.choice(name).is_some_and(|now| now != choice) {
            self.ports.observer.policy_step(name, StepKind::Undone);
            facts.push(ChoiceFact::Undone { network: name.clone(), choice, at: self.now() }.into());
        }
        let defined = Defined { config: &config, definition: &definition, by: definer };
        let changes = served.book.redefine(defined, self.now()).map_err(crate::committer::defect)?;
        facts.extend(changes.into_iter().map(Fact::from));
        if let Some(remembered) =
            remembered.filter(|before| self.present_state(name).as_ref() != Some(before))
        {
            facts.push(undone(&self.committer.node().states, name, remembered).into());
        }
        (served.policy, served.watch) = (None, None);
        if facts.is_empty() {
            return Ok(None);
        }
        self.committer.commit(&mut served.book, &facts).map(|(_, ticket)| Some(ticket))
    }

    /// Removes a network that did not exist before. Nobody has had the network's turn since, so it holds nothing.
    fn take_back(&self, alone: &Alone<'_>, name: &NetworkName) -> Result<()> {
        let mut state = alone.state();
        let Some(served) = state.as_mut() else { return Ok(()) };
        let (network, at) = (name.clone(), self.now());
        let removed = LedgerFact::Removed { network: network.clone(), at };
        let remembered = forgotten(&self.committer.node().states, name, at).map(Fact::from);
        let mut facts: Vec<Fact> = vec![ChoiceFact::Forgotten { network, at }.into(), removed.into()];
        facts.extend(remembered);
        let (place, _) = self.committer.commit(&mut served.book, &facts)?;
        self.networks.bury(name, place);
        *state = None;
        Ok(())
    }
}
