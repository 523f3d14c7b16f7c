//! The difference between a network and its desired definition, and the facts that close it.

use std::sync::Arc;

use tenure_ledger::{Book, Choice, ChoiceFact, Chooser, Defined, Fact, LedgerFact, StateFact, StepKind};
use tenure_types::{Definer, Definition, NetworkConfig, NetworkName, PolicyStamp, Result};

use super::ranges::ranges;
use super::slot::Served;
use crate::core::strikes::Requester;
use crate::core::{Defining, EngineCore};
use crate::policy::calls::DEFINITION;
use crate::policy::watch::Watch;
use crate::ports::{Policy, Ticket};

/// The desired definition of a network.
pub(crate) struct Wanted {
    pub(crate) policy: Arc<dyn Policy>,
    /// Chooser of the policy.
    pub(crate) by: Chooser,
    /// Why, in words for people; may be empty.
    pub(crate) why: String,
    /// Whether a policy that takes over from another is watched.
    pub(crate) watch: bool,
    /// Whether the policy begins with an empty state instead of the previous policy's.
    pub(crate) empty_state: bool,
    pub(crate) config: Arc<NetworkConfig>,
    /// Origin of the definition.
    pub(crate) definer: Definer,
    /// On whose behalf the policy is asked.
    pub(crate) requester: Requester,
}

/// The result of a redefinition, or of its dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redefined {
    /// The policy that served the network before.
    pub before: Option<PolicyStamp>,
    /// The policy that serves it now, or would.
    pub after: PolicyStamp,
    /// Whether anything changed, or would.
    pub changed: bool,
    /// The ranges added.
    pub added: Vec<String>,
    /// The ranges removed. Addresses held in them stay with their owners.
    pub removed: Vec<String>,
}

impl EngineCore {
    /// Computes what would change.
    pub(crate) fn compare(
        &self,
        served: Option<&Served>,
        name: &NetworkName,
        wanted: &Wanted,
        definition: &Definition,
    ) -> Result<Redefined> {
        let book = served.map_or_else(|| Arc::new(Book::empty(name)), |served| Arc::clone(&served.book));
        let facts = self.facts(&book, wanted, definition)?;
        let (added, removed) = ranges(Some(&book), &facts);
        Ok(Redefined {
            before: self.committer.choice(name).map(|choice| choice.policy),
            after: wanted.policy.stamp().as_ref().clone(),
            changed: !facts.is_empty(),
            added,
            removed,
        })
    }

    /// The facts that bring a network in line with the definition; empty when nothing changes.
    fn facts(&self, book: &Book, wanted: &Wanted, definition: &Definition) -> Result<Vec<Fact>> {
        let (name, now) = (book.name(), self.now());
        let mut facts = Vec::new();
        let (stamp, by) = (wanted.policy.stamp(), wanted.by);
        let before = self.committer.choice(name);
        if before.as_ref().is_none_or(|before| before.policy != **stamp || before.by != by) {
            let watched = match &before {
                // Confirming a choice ends its watch.
                Some(before) => before.policy != **stamp && wanted.watch && self.watches(),
                None => false,
            };
            let choice =
                Choice { policy: stamp.as_ref().clone(), by, at: now, why: wanted.why.clone(), watched };
            facts.push(ChoiceFact::Chosen { network: name.clone(), choice }.into());
        }
        let defined = Defined { config: &wanted.config, definition, by: wanted.definer };
        let changes = book.redefine(defined, now).map_err(|invalid| {
            let why = format_args!("returned an invalid definition for network {name}: {invalid}");
            self.rejected(wanted.policy.as_ref(), DEFINITION, why)
        })?;
        facts.extend(changes.into_iter().map(Fact::from));
        Ok(facts)
    }

    /// Whether the settings have exchanges watched.
    fn watches(&self) -> bool {
        !self.settings().exchange.watch.is_zero()
    }

    /// The policy that served a network before the present one.
    pub(crate) fn policy_before(&self, name: &NetworkName) -> Option<PolicyStamp> {
        let node = self.committer.node();
        Some(node.choices.of(name)?.before.front()?.policy.clone())
    }

    /// The same facts, without those of other chapters.
    pub(crate) fn ledger_facts(
        &self,
        book: &Book,
        wanted: &Wanted,
        definition: &Definition,
    ) -> Result<Vec<LedgerFact>> {
        let of_book = |fact| match fact {
            Fact::Ledger(fact) => Some(fact),
            _ => None,
        };
        Ok(self.facts(book, wanted, definition)?.into_iter().filter_map(of_book).collect())
    }

    /// Stages and applies the facts that bring a network in line with the definition, and the state that its policy begins
    /// with, all of them or none.
    pub(crate) fn redefine(
        &self,
        _: &Defining<'_>,
        slot: &mut Option<Served>,
        name: &NetworkName,
        wanted: &Wanted,
        definition: &Definition,
        inherited: Option<StateFact>,
    ) -> Result<Ticket> {
        self.check_exclusive(name, definition.pools.iter().flat_map(|pool| &pool.ranges))?;
        let before = slot.as_ref().map(|served| Arc::clone(&served.book));
        let book = before.clone().unwrap_or_else(|| Arc::new(Book::empty(name)));
        let mut facts = self.facts(&book, wanted, definition)?;
        if let Some(StateFact::Kept { state, .. }) = &inherited
            && facts.iter().all(|fact| chosen(fact).is_none())
        {
            // The policy stays and its state does not: that is a step of its own.
            facts.push(self.step(name, &state.policy, StepKind::StateReplaced, wanted.why.clone()).into());
        }
        facts.extend(inherited.map(Fact::from));
        drop(book);
        if facts.is_empty() {
            return Ok(self.ports.journal.barrier());
        }
        tell(before.as_deref(), name, &facts);
        drop(before);
        let served = slot.get_or_insert_with(|| Served::new(Book::empty(name)));
        served.within = None;
        if let Some(choice) = facts.iter().find_map(chosen) {
            let comparable = facts.iter().all(|fact| !matches!(fact, Fact::Ledger(_)));
            let over = served.watch.take();
            served.watch = choice.watched.then(|| match over {
                Some(over) => Watch::new(comparable).in_turn(over, self.policy_before(name)),
                None => Watch::new(comparable),
            });
            self.ports.observer.policy_step(name, StepKind::Chosen(choice.by));
        }
        self.committer.commit(&mut served.book, &facts).map(|(_, ticket)| ticket)
    }
}

/// The choice of a fact.
fn chosen(fact: &Fact) -> Option<&Choice> {
    match fact {
        Fact::Choices(ChoiceFact::Chosen { choice, .. }) => Some(choice),
        _ => None,
    }
}

/// Logs the change of a network; the checkpoint records the same facts in its own log.
fn tell(before: Option<&Book>, network: &NetworkName, facts: &[Fact]) {
    for choice in facts.iter().filter_map(chosen) {
        let (policy, by) = (&choice.policy, choice.by.name());
        tracing::info!(%network, %policy, by, "policy now serves the network");
    }
    let (added, removed) = ranges(before, facts);
    let (ranges, removed) = (added.join(", "), removed.join(", "));
    match before {
        None => tracing::info!(%network, ranges, "defined a network"),
        Some(_) => tracing::info!(%network, added = ranges, removed, "changed a network"),
    }
}
