//! Importing the allocations of another IPAM: the ledger checks them as for an ADD, but no policy is called.
//!
//! An import arrives in parts, each durable when it is answered. Claims are judged and staged a few at a time with
//! the book locked, so that other requests wait only briefly. ADD for new owners is refused until the import ends:
//! between two parts it could assign an address that is in use. The network durably records that it moves over, from
//! which source ([`tenure_ledger::moves`] has the states), so an interrupted import has to be repeated from that source,
//! or abandoned. `gate` judges new owners. A dry run judges a copy of the book, by the same rules.
//!
//! Locks: the network's turn while an import begins or ends and for each few claims; its state before the node's.

pub(crate) mod abandon;
pub(crate) mod claim;
pub(crate) mod gate;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use tenure_ledger::{Book, Chooser, Fact, LedgerFact, Move, MoveEnd, MoveFact, StateFact};
use tenure_types::{
    ConditionName, Definer, Definition, Error, ErrorCode, Generation, NetworkConfig, NetworkName, Owner,
    PolicyName, PolicyStamp, Result,
};

use self::claim::{Claim, Imported, Rules};
use crate::core::EngineCore;
use crate::core::committer::defect;
use crate::core::strikes::Requester;
use crate::network::bounds::ConfiguredNetwork;
use crate::network::redefine::Wanted;
use crate::network::slot::{Alone, Served};
use crate::ports::{Compared, OtherIpams};

/// Owns the imports from other IPAMs, and the comparison with those that still run beside.
pub(crate) struct NetworkImports {
    core: Arc<EngineCore>,
    /// A `std::sync::RwLock`, held only to copy the `Arc`.
    others: RwLock<Option<Arc<dyn OtherIpams>>>,
    /// Why new owners are refused beside other IPAMs, by network. A `std::sync::Mutex`, held for a look-up.
    unaccounted: Mutex<BTreeMap<NetworkName, Unaccounted>>,
}

/// The refusal of new owners of a network beside another IPAM.
struct Unaccounted {
    compared: Compared,
    why: String,
    /// The time on the monotonic clock at which a caller last asked.
    asked: Duration,
}

impl NetworkImports {
    pub(crate) fn new(core: Arc<EngineCore>) -> Self {
        Self { core, others: RwLock::default(), unaccounted: Mutex::default() }
    }
}

/// How many claims are judged per lock of the book.
const AT_ONCE: usize = 256;

/// The parameters of an import.
#[derive(Debug, Clone)]
pub struct Import {
    /// The network.
    pub network: NetworkName,
    /// Source of the addresses.
    pub origin: ImportOrigin,
    /// The policy and configuration to define or redefine it with, if any.
    pub definition: Option<(PolicyName, Arc<NetworkConfig>)>,
    /// Whether the source never names two owners of one address. A new claim then ends the allocation imported
    /// earlier from the same source.
    pub exclusive: bool,
    /// Whether to make the changes; false for a dry run.
    pub apply: bool,
}

/// The source of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportOrigin {
    /// The IPAM and the location of its state. Another import from the same source is the same move.
    pub source: String,
    /// User who imports, for people.
    pub by: String,
    /// How many claims there are in all; 0 if that is not known.
    pub entries: u64,
}

/// An import in progress.
#[derive(Debug)]
pub struct Importing {
    network: NetworkName,
    exclusive: bool,
    source: Arc<str>,
    /// How many claims were judged so far.
    reached: u64,
    /// The policy that serves the network; an import does not call it.
    policy: Arc<PolicyStamp>,
    /// The first generation of this import; earlier allocations were there before.
    since: Generation,
    /// The copy of the book that a dry run changes.
    draft: Option<Box<Book>>,
    /// While this exists, the network refuses new owners.
    _under_way: Option<Arc<()>>,
}

/// By what an import would define the network.
struct NamedDefinition {
    policy: PolicyName,
    config: Arc<NetworkConfig>,
    /// The author of the definition.
    by: Definer,
}

/// A definition that an import asks for, and the state that the policy begins with.
struct Wished {
    wanted: Wanted,
    definition: Definition,
    inherited: Option<StateFact>,
}

impl NetworkImports {
    /// Serves [`Engine::begin_import`](crate::Engine::begin_import).
    pub(crate) async fn begin_import(&self, import: &Import) -> Result<Importing> {
        let unknown = || unknown(&import.network);
        let named = self.named(import);
        if let Some(NamedDefinition { policy, .. }) = &named {
            // Load before the network's turn: only the operator waits for it. `redefinition` reports the error, if
            // the policy is needed at all.
            drop(self.core.loaded_by_now(policy).await);
        }
        if let Some(others) = self.others() {
            // Once the network has moved over, new owners would wait for a comparison that nobody can make.
            others.can_read(&import.network, &import.origin.source).await?;
        }
        let slot = match named {
            Some(_) => self.core.networks.get_or_create(&import.network)?,
            None => self.core.networks.known(&import.network).ok_or_else(unknown)?,
        };
        let alone = slot.alone().await;
        let defined = self.redefinition(&alone, import, named).await?;
        let (network, exclusive) = (import.network.clone(), import.exclusive);
        let source: Arc<str> = import.origin.source.as_str().into();
        let policy = match (&defined, self.core.committer.choice(&network)) {
            (Some(wished), _) => Arc::clone(wished.wanted.policy.stamp()),
            (None, Some(choice)) => Arc::new(choice.policy),
            (None, None) => return Err(unknown()),
        };
        if import.apply {
            self.core.ports.journal.health()?;
            let (since, under_way) = {
                let defining = self.core.defining();
                let mut state = alone.hold();
                if let Some(Wished { wanted, definition, inherited }) = &defined {
                    // Covered by the barrier below.
                    let inherited = inherited.clone();
                    drop(self.core.redefine(&defining, &mut state, &network, wanted, definition, inherited)?);
                }
                let served = state.as_mut().ok_or_else(unknown)?;
                let begun = self.begun(&served.book, import, &source);
                drop(self.core.committer.commit(&mut served.book, &begun)?);
                (served.book.next_generation(), Some(served.import_from(&source)))
            };
            self.core.ports.journal.barrier().durable().await?;
            return Ok(Importing {
                network,
                exclusive,
                source,
                reached: 0,
                policy,
                since,
                draft: None,
                _under_way: under_way,
            });
        }
        let book = alone.state().as_ref().map(|served| Arc::clone(&served.book));
        // Copying a large book takes time; release the turn first.
        drop(alone);
        let mut draft = match (book, &defined) {
            (Some(book), _) => book.as_ref().clone(),
            (None, Some(_)) => Book::empty(&network),
            (None, None) => return Err(unknown()),
        };
        if let Some(Wished { wanted, definition, .. }) = &defined {
            for fact in self.core.ledger_facts(&draft, wanted, definition)? {
                self.core.committer.try_out(&mut draft, &fact)?;
            }
        }
        draft.expire(self.core.now(), self.core.settings().cooldown);
        let (since, draft) = (draft.next_generation(), Some(Box::new(draft)));
        Ok(Importing { network, exclusive, source, reached: 0, policy, since, draft, _under_way: None })
    }

    /// Serves [`Engine::import`](crate::Engine::import).
    pub(crate) async fn import(
        &self,
        importing: &mut Importing,
        part: &[Claim],
    ) -> Result<Vec<Result<Imported>>> {
        let policy = Arc::clone(&importing.policy);
        let network = importing.network.clone();
        let is_over = |owner: &Owner, claimed_at_ms| {
            self.core.committer.node().moves.is_over(&network, owner, claimed_at_ms)
        };
        let awaited = self.core.conditions.message(ConditionName::SupplyMissing, "");
        let rules = Rules {
            is_over: &is_over,
            awaited: awaited.as_deref(),
            exclusive: importing.exclusive,
            since: importing.since,
            policy: &policy,
            now: self.core.now(),
        };
        if let Some(draft) = &mut importing.draft {
            let mut commit = |book: &mut Box<Book>, facts: Vec<LedgerFact>| {
                facts.iter().try_for_each(|fact| book.apply(book.through() + 1, fact)).map_err(defect)
            };
            return Ok(part.iter().map(|claim| claim.take(draft, rules, &mut commit)).collect());
        }
        let reached = importing.reached.saturating_add(part.len() as u64);
        let outcomes = self.core.observed("import", &network, None, async {
            let slot = self.core.networks.get(&network).ok_or_else(|| unknown(&network))?;
            let mut outcomes = Vec::with_capacity(part.len());
            for some in part.chunks(AT_ONCE) {
                let mut slot = slot.lock().await;
                let served = slot.as_mut().ok_or_else(|| unknown(&network))?;
                self.core.ports.journal.health()?;
                self.core.expire(served, rules.now);
                outcomes.extend(some.iter().map(|claim| {
                    let mut commit = |book: &mut Arc<Book>, facts: Vec<LedgerFact>| {
                        let facts: Vec<Fact> = facts.into_iter().map(Fact::from).collect();
                        // Covered by the barrier below.
                        self.core.committer.commit(book, &facts).map(drop)
                    };
                    claim.take(&mut served.book, rules, &mut commit)
                }));
            }
            let (network, source, at) = (network.clone(), Arc::clone(&importing.source), rules.now);
            // Covered by the barrier below.
            drop(
                self.core.committer.commit_node(|_| Some(MoveFact::Reached { network, source, reached, at })),
            );
            self.core.ports.journal.barrier().durable().await?;
            Ok(outcomes)
        });
        let outcomes = outcomes.await?;
        importing.reached = reached;
        Ok(outcomes)
    }

    /// Serves [`Engine::end_import`](crate::Engine::end_import).
    pub(crate) async fn end_import(&self, importing: Importing) -> Result<()> {
        if importing.draft.is_some() {
            return Ok(());
        }
        let Importing { network, source, _under_way: under_way, .. } = importing;
        let Some(slot) = self.core.networks.get(&network) else { return Ok(()) };
        let ticket = {
            let mut slot = slot.lock().await;
            drop(under_way);
            let ends =
                |served: &&mut Served| served.book.is_importing() && !served.is_importing_from(&source);
            let Some(served) = slot.as_mut().filter(ends) else { return Ok(()) };
            let at = self.core.now();
            let is_last = {
                let node = self.core.committer.node();
                !served.has_imports() && node.moves.open(&network).all(|open| open.source == source)
            };
            let (end, why) = (MoveEnd::Finished, Box::default());
            let ended = MoveFact::Ended { network: network.clone(), source, end, why, at };
            let opened = is_last.then_some(LedgerFact::Importing { network, under_way: false, at });
            let facts: Vec<Fact> = [Fact::from(ended)].into_iter().chain(opened.map(Fact::from)).collect();
            self.core.committer.commit(&mut served.book, &facts)?.1
        };
        ticket.durable().await
    }

    /// The facts by which an import begins.
    fn begun(&self, book: &Book, import: &Import, source: &Arc<str>) -> Vec<Fact> {
        let (network, at) = (&import.network, self.core.now());
        let node = self.core.committer.node();
        let mut facts: Vec<Fact> = Vec::new();
        facts.extend(gate::ended_elsewhere(book, &node.moves, at));
        if book.is_importing() && node.moves.open(network).next().is_none() {
            facts.push(MoveFact::Begun(gate::by_an_older_program(network)).into());
        }
        let ImportOrigin { by, entries, .. } = &import.origin;
        let (source, by) = (Arc::clone(source), by.as_str().into());
        let (network, entries) = (network.clone(), *entries);
        let begun = Move { network: network.clone(), source, by, entries, reached: 0, at };
        facts.extend([
            MoveFact::Begun(begun).into(),
            LedgerFact::Importing { network, under_way: true, at }.into(),
        ]);
        facts
    }

    /// The policy and the configuration by which the network is to be defined, if any: while the state is lost, the daemon's configuration is not
    /// carried out, and an operator who imports into a network of it wants just that.
    fn named(&self, import: &Import) -> Option<NamedDefinition> {
        let (bounds, name) = (self.core.bounds(), &import.network);
        let is_there = || self.core.networks.get(name).is_some_and(|slot| slot.state().is_some());
        let is_left_out = self.core.has_state().is_err() && !is_there();
        match bounds.configured(name).filter(|_| is_left_out).cloned() {
            Some(ConfiguredNetwork { policy, config }) => {
                Some(NamedDefinition { policy, config, by: Definer::Configuration })
            }
            None => {
                let (policy, config) = import.definition.clone()?;
                Some(NamedDefinition { policy, config, by: Definer::Request })
            }
        }
    }

    /// The definition that the import asks for; `None` if the network has it already, or is fixed.
    async fn redefinition(
        &self,
        alone: &Alone<'_>,
        import: &Import,
        named: Option<NamedDefinition>,
    ) -> Result<Option<Wished>> {
        let Some(NamedDefinition { policy, config, by: definer }) = named else { return Ok(None) };
        let name = &import.network;
        let (policy, by) = {
            let state = alone.state();
            let network = state.as_ref().map(|served| served.book.network());
            let is_fixed = match definer {
                Definer::Configuration => network.is_some(),
                Definer::Operator | Definer::Request => {
                    self.core.is_fixed(&self.core.bounds(), name, network)?
                }
            };
            if network.is_some_and(|network| is_fixed || network.config == config) {
                return Ok(None);
            }
            let choice = self.core.committer.choice(name).filter(|choice| choice.by.overrides());
            match (&*state, &choice) {
                (Some(served), Some(choice)) => (self.core.policy_of(served, choice)?, choice.by),
                _ => (self.core.ports.catalogue.find(&policy)?, Chooser::Configuration),
            }
        };
        let (why, requester) = (String::new(), Requester::Operator);
        let mut wanted =
            Wanted { policy, by, why, watch: true, empty_state: false, config, definer, requester };
        let definition = self.core.defined(name, &wanted).await?;
        let inherited = self.core.inherited(alone, name, &mut wanted).await?;
        Ok(Some(Wished { wanted, definition, inherited }))
    }
}

fn unknown(network: &NetworkName) -> Error {
    let cause = format_args!("no network {network} on this node, and no configuration to define it");
    Error::new(ErrorCode::UnknownNetwork, cause)
}
