//! Defining and removing networks. A request, the daemon's configuration or an operator defines a network; it can be
//! removed once it has no allocations.

use std::sync::Arc;

use tenure_ledger::{Book, Choice, ChoiceFact, Chooser, Defined, Fact, LedgerFact, check_definition};
use tenure_types::{
    ConditionName, Definer, Definition, Error, ErrorCode, Network, NetworkConfig, NetworkName, PolicyName,
    PolicyStamp, Range, Result,
};

use crate::bounds::Bounds;
use crate::engine::{Defining, Engine};
use crate::networks::{Alone, Served};
use crate::ports::{Policy, Ticket};

/// The desired definition of a network.
pub(crate) struct Wanted {
    pub(crate) policy: Arc<dyn Policy>,
    /// Who chose the policy.
    pub(crate) by: Chooser,
    pub(crate) config: Arc<NetworkConfig>,
    /// Who defines it.
    pub(crate) definer: Definer,
}

/// A network to define without a request.
#[derive(Debug, Clone)]
pub struct Define {
    /// The network.
    pub network: NetworkName,
    /// The policy to serve it, unless an operator has chosen one.
    pub policy: PolicyName,
    /// The configuration that the policy derives the definition from.
    pub config: Arc<NetworkConfig>,
    /// Who defines it: an operator or the daemon's configuration.
    pub by: Definer,
    /// Whether to make the changes; false for a dry run.
    pub apply: bool,
    /// Whether the ranges of an existing network may change.
    pub change_ranges: bool,
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

impl Engine {
    /// Defines or redefines a network for an operator or for the daemon's configuration; durable when this returns. A
    /// dry run returns what would change.
    ///
    /// # Errors
    /// `UnknownPolicy`, `PolicyUnloadable`, `OutOfBounds`, `RangesWouldChange` and the policy's own errors about the
    /// configuration.
    pub async fn define_network(&self, define: &Define) -> Result<Redefined> {
        self.observed("define", &define.network, None, self.serve_define(define)).await
    }

    async fn serve_define(&self, define: &Define) -> Result<Redefined> {
        let name = &define.network;
        if define.by == Definer::Operator {
            self.bounds().check_operator(name)?;
        }
        let slot = self.networks.get_or_create(name)?;
        // Loading may compile, so it happens before the network's turn: the network keeps serving meanwhile.
        let loaded = self.ports.catalogue.load(&define.policy).await;
        let alone = slot.alone().await;
        let chosen = self.committer.choice(name);
        let policy = match chosen.as_ref().filter(|choice| choice.by == Chooser::Operator) {
            Some(choice) => self.ports.catalogue.find_pinned(&choice.policy)?,
            None => loaded?,
        };
        let by = chosen.as_ref().map_or(Chooser::Configuration, |choice| choice.by);
        let wanted = Wanted { policy, by, config: Arc::clone(&define.config), definer: define.by };
        let definition = self.defined(name, &wanted).await?;
        let (redefined, ticket) = {
            let defining = self.defining();
            let mut state = alone.hold();
            let redefined = self.compare(state.as_ref(), name, &wanted, &definition)?;
            self.check_change(name, &redefined, state.is_some(), define.change_ranges)?;
            if !define.apply {
                return Ok(redefined);
            }
            self.ports.journal.health()?;
            let ticket = self.redefine(&defining, &mut state, name, &wanted, &definition)?;
            if let Some(served) = state.as_mut() {
                served.policy = Some(wanted.policy);
            }
            (redefined, ticket)
        };
        ticket.durable().await?;
        Ok(redefined)
    }

    /// Hands a network over to the operator unchanged, after it was dropped from the daemon's configuration; durable
    /// when this returns. Does nothing to a network that the configuration has not defined.
    ///
    /// # Errors
    /// `CheckpointFailed` and `DiskFull`.
    pub async fn leave_to_operator(&self, name: &NetworkName) -> Result<()> {
        let Some(slot) = self.networks.known(name) else { return Ok(()) };
        let ticket = {
            let mut state = slot.lock().await;
            let Some(served) = state.as_mut() else { return Ok(()) };
            let network = served.book.network();
            if network.defined_by != Definer::Configuration {
                return Ok(());
            }
            self.ports.journal.health()?;
            let mut network = network.as_ref().clone();
            (network.defined_by, network.changed_at) = (Definer::Operator, self.now());
            tracing::info!(network = %name, "network is no longer in the configuration; left unchanged");
            self.committer.commit_one(&mut served.book, LedgerFact::Defined(Arc::new(network)))?
        };
        ticket.durable().await
    }

    /// Whether a network is fixed: the daemon's configuration or an operator defines it, so a request's configuration
    /// cannot change it.
    ///
    /// # Errors
    /// `NotReady` when the daemon's configuration names the network but has not defined it yet.
    pub(crate) fn is_fixed(
        &self,
        bounds: &Bounds,
        name: &NetworkName,
        network: Option<&Arc<Network>>,
    ) -> Result<bool> {
        let Some(network) = network else {
            if !bounds.is_configured(name) {
                return Ok(false);
            }
            let told = self.conditions.message(ConditionName::NetworkUndefined, name.as_str());
            let why = told.unwrap_or_else(|| format!("networks.{name} is being defined"));
            return Err(Error::new(ErrorCode::NotReady, why));
        };
        Ok(network.defined_by != Definer::Request || bounds.is_configured(name))
    }

    /// Refuses to change the ranges of an existing network unless `change_ranges` is set.
    pub(crate) fn check_change(
        &self,
        name: &NetworkName,
        redefined: &Redefined,
        exists: bool,
        change_ranges: bool,
    ) -> Result<()> {
        let changes = !redefined.added.is_empty() || !redefined.removed.is_empty();
        if !exists || change_ranges || !changes {
            return Ok(());
        }
        let list = |ranges: &[String]| if ranges.is_empty() { "none".to_owned() } else { ranges.join(", ") };
        let cause = format_args!(
            "policy {} would change the ranges of network {name}: added: {}; removed: {}",
            redefined.after,
            list(&redefined.added),
            list(&redefined.removed)
        );
        Err(Error::new(ErrorCode::RangesWouldChange, cause))
    }

    /// Removes a network that has no allocations; durable when this returns. Returns whether the network existed.
    ///
    /// # Errors
    /// `NetworkInUse` when it has allocations or an unfinished import, `OutOfBounds` when the daemon's configuration
    /// defines it.
    pub async fn remove_network(&self, network: &NetworkName, apply: bool) -> Result<bool> {
        self.observed("remove", network, None, self.serve_remove(network, apply)).await
    }

    async fn serve_remove(&self, name: &NetworkName, apply: bool) -> Result<bool> {
        self.bounds().check_operator(name)?;
        let Some(slot) = self.networks.known(name) else { return Ok(false) };
        let ticket = {
            let mut state = slot.lock().await;
            let Some(served) = state.as_mut() else { return Ok(false) };
            let held = served.book.allocations().len();
            if held > 0 || served.book.is_importing() || Arc::strong_count(&served.imports) > 1 {
                let cause = match held {
                    0 => format!("an import of network {name} has not finished"),
                    held => format!("network {name} has {held} live allocations"),
                };
                return Err(Error::new(ErrorCode::NetworkInUse, cause));
            }
            if !apply {
                return Ok(true);
            }
            self.ports.journal.health()?;
            let (network, at) = (name.clone(), self.now());
            let removed = LedgerFact::Removed { network: network.clone(), at };
            let facts = [ChoiceFact::Forgotten { network, at }.into(), removed.into()];
            let (place, ticket) = self.committer.commit(&mut served.book, &facts)?;
            self.networks.bury(name, place);
            *state = None;
            tracing::info!(network = %name, "removed a network");
            ticket
        };
        ticket.durable().await?;
        Ok(true)
    }

    /// Asks a policy to derive a definition from a configuration, and checks it.
    pub(crate) async fn defined(&self, name: &NetworkName, wanted: &Wanted) -> Result<Definition> {
        let policy = wanted.policy.as_ref();
        let bounds = self.bounds();
        bounds.check_policy(name, &policy.stamp().name)?;
        let definition = self.ask(name, policy, || policy.define(name, &wanted.config)).await?;
        check_definition(&definition).map_err(|invalid| {
            self.rejected(
                policy,
                format_args!("returned an invalid definition for network {name}: {invalid}"),
            )
        })?;
        bounds.check_ranges(name, &policy.stamp().name, &definition)?;
        Ok(definition)
    }

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
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        for fact in &facts {
            match fact {
                Fact::Ledger(LedgerFact::RangeAdded { range, .. }) => added.push(range.to_string()),
                Fact::Ledger(LedgerFact::RangeRemoved { range, .. }) => removed.push(range.to_string()),
                Fact::Ledger(LedgerFact::Defined(network)) => removed.extend(going(&book, network)),
                _ => {}
            }
        }
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
        let choice = self.committer.choice(name);
        if choice.is_none_or(|choice| choice.policy != **stamp || choice.by != by) {
            let choice = Choice { policy: stamp.as_ref().clone(), by, at: now };
            facts.push(ChoiceFact::Chosen { network: name.clone(), choice }.into());
        }
        let defined = Defined { config: &wanted.config, definition, by: wanted.definer };
        let changes = book.redefine(defined, now).map_err(|invalid| {
            let why = format_args!("returned an invalid definition for network {name}: {invalid}");
            self.rejected(wanted.policy.as_ref(), why)
        })?;
        facts.extend(changes.into_iter().map(Fact::from));
        Ok(facts)
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
            Fact::Choices(_) => None,
        };
        Ok(self.facts(book, wanted, definition)?.into_iter().filter_map(of_book).collect())
    }

    /// Stages and applies the facts that bring a network in line with the definition, all of them or none.
    pub(crate) fn redefine(
        &self,
        _: &Defining<'_>,
        slot: &mut Option<Served>,
        name: &NetworkName,
        wanted: &Wanted,
        definition: &Definition,
    ) -> Result<Ticket> {
        self.check_exclusive(name, definition.pools.iter().flat_map(|pool| &pool.ranges))?;
        let before = slot.as_ref().map(|served| Arc::clone(&served.book));
        let book = before.clone().unwrap_or_else(|| Arc::new(Book::empty(name)));
        let facts = self.facts(&book, wanted, definition)?;
        drop(book);
        if facts.is_empty() {
            return Ok(self.ports.journal.barrier());
        }
        tell(before.as_deref(), name, &facts);
        drop(before);
        let served = slot.get_or_insert_with(|| Served::new(Book::empty(name)));
        served.within = None;
        self.committer.commit(&mut served.book, &facts).map(|(_, ticket)| ticket)
    }

    /// Refuses a network whose ranges or policy are out of bounds. A network that passes is checked again only after
    /// the bounds change.
    pub(crate) fn check_within(&self, alone: &Alone<'_>, bounds: &Arc<Bounds>) -> Result<()> {
        let book = {
            let state = alone.state();
            let Some(served) = state.as_ref() else { return Ok(()) };
            if served.within.as_ref().is_some_and(|within| Arc::ptr_eq(within, bounds)) {
                return Ok(());
            }
            Arc::clone(&served.book)
        };
        self.check_book(bounds, &book)?;
        drop(book);
        if let Some(served) = alone.state().as_mut() {
            served.within = Some(Arc::clone(bounds));
        }
        Ok(())
    }

    /// Checks a network's present ranges and policy, with no network's state locked.
    fn check_book(&self, bounds: &Bounds, book: &Book) -> Result<()> {
        let name = book.name();
        if let Some(choice) = self.committer.choice(name) {
            bounds.check_book(&choice.policy.name, book)?;
        }
        // An exclusive network keeps serving; the networks that overlap it do not.
        let ranges = (0..book.pools().len()).flat_map(|pool| book.ranges(pool)).map(|view| view.range);
        self.check_overlap(bounds, name, ranges, |other| bounds.is_exclusive(other))
    }

    /// Refuses ranges that overlap another network's, where either network is exclusive.
    pub(crate) fn check_exclusive<'r>(
        &self,
        name: &NetworkName,
        ranges: impl Iterator<Item = &'r Range>,
    ) -> Result<()> {
        let bounds = self.bounds();
        let counts = |other: &NetworkName| bounds.is_exclusive(name) || bounds.is_exclusive(other);
        match bounds.any_exclusive() {
            true => self.check_overlap(&bounds, name, ranges, counts),
            false => Ok(()),
        }
    }

    /// Refuses ranges that overlap those of another network for which `counts` is true.
    fn check_overlap<'r>(
        &self,
        bounds: &Bounds,
        name: &NetworkName,
        ranges: impl Iterator<Item = &'r Range>,
        counts: impl Fn(&NetworkName) -> bool,
    ) -> Result<()> {
        let ranges: Vec<&Range> = ranges.collect();
        for (other, slot) in self.networks.all() {
            if other == *name || !counts(&other) {
                continue;
            }
            let state = slot.state();
            let Some(served) = state.as_ref() else { continue };
            if let Some((ours, theirs)) = overlap(&ranges, &served.book) {
                let exclusive = if bounds.is_exclusive(&other) { &other } else { name };
                let cause = format_args!(
                    "range {ours} of network {name} overlaps {theirs} of network {other}, and networks.{exclusive}.exclusive is set"
                );
                return Err(Error::new(ErrorCode::OutOfBounds, cause));
            }
        }
        Ok(())
    }
}

/// Finds two ranges that share an address.
fn overlap<'r>(ranges: &[&'r Range], book: &Book) -> Option<(&'r Range, String)> {
    let theirs = (0..book.pools().len()).flat_map(|pool| book.ranges(pool));
    for view in theirs {
        if let Some(ours) = ranges.iter().find(|range| range.overlaps(view.range)) {
            return Some((ours, view.range.to_string()));
        }
    }
    None
}

/// The ranges of pools that no longer exist, which are removed with them.
fn going<'b>(book: &'b Book, after: &'b tenure_types::Network) -> impl Iterator<Item = String> + 'b {
    let gone = book.pools().iter().enumerate().filter(|(_, pool)| after.pool_named(&pool.name).is_none());
    gone.flat_map(|(index, _)| book.ranges(index)).map(|view| view.range.to_string())
}

/// Logs the change of a network; the checkpoint records the same facts in its own log.
fn tell(before: Option<&Book>, network: &NetworkName, facts: &[Fact]) {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for fact in facts {
        match fact {
            Fact::Choices(ChoiceFact::Chosen { choice, .. }) => {
                let (policy, by) = (&choice.policy, choice.by.name());
                tracing::info!(%network, %policy, by, "policy now serves the network");
            }
            Fact::Ledger(LedgerFact::RangeAdded { range, .. }) => added.push(range.to_string()),
            Fact::Ledger(LedgerFact::RangeRemoved { range, .. }) => removed.push(range.to_string()),
            Fact::Ledger(LedgerFact::Defined(after)) => {
                removed.extend(before.into_iter().flat_map(|book| going(book, after)));
            }
            _ => {}
        }
    }
    let (ranges, removed) = (added.join(", "), removed.join(", "));
    match before {
        None => tracing::info!(%network, ranges, "defined a network"),
        Some(_) => tracing::info!(%network, added = ranges, removed, "changed a network"),
    }
}
