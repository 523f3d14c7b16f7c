//! Taking over what another IPAM handed out: the ledger's checks as for an ADD, but no policy is asked.
//!
//! An import comes in parts, each durable when it is answered. A few claims of it at a time are judged and staged with the book
//! held, so that nothing waits for more than those. New owners are refused until it ends: an ADD between two parts could get an
//! address that lives. A network that the import makes remembers that durably, so that an import that was cut off is repeated. A
//! dry run judges a copy of the book instead, by the same rules.

mod claim;

use std::sync::Arc;

use tenure_ledger::{Book, Chooser, LedgerFact};
use tenure_types::{
    Definer, Definition, Error, ErrorCode, Generation, NetworkConfig, NetworkName, PolicyName, PolicyStamp,
    Result,
};

use self::claim::Rules;
pub use self::claim::{Claim, Imported, Place};
use crate::define::Wanted;
use crate::engine::{Engine, defect};
use crate::networks::{Alone, Served};

/// How many claims are judged with the book held.
const AT_ONCE: usize = 256;

/// What is to be taken over, but for the claims.
#[derive(Debug, Clone)]
pub struct Import {
    /// The network.
    pub network: NetworkName,
    /// What defines it, where it is not defined yet or is to be defined anew.
    pub definition: Option<(PolicyName, Arc<NetworkConfig>)>,
    /// Whether the source never names two owners of one address, so that a claim ends what was taken over from the source before.
    pub exclusive: bool,
    /// Whether anything is to change.
    pub apply: bool,
}

/// An import under way.
#[derive(Debug)]
pub struct Importing {
    network: NetworkName,
    exclusive: bool,
    /// The policy that serves the network, which no import asks.
    policy: Arc<PolicyStamp>,
    /// Allocations from this one on were made by the import itself.
    since: Generation,
    /// What a dry run changes instead of the book.
    draft: Option<Box<Book>>,
    /// Keeps new owners from the network until the import has ended, or was given up.
    _under_way: Option<Arc<()>>,
}

/// Refuses a new owner while an import of the network is under way, or was cut off: an address that was not taken over yet may live.
pub(crate) fn admits(served: Option<&Served>) -> Result<()> {
    let Some(served) = served else { return Ok(()) };
    let under_way = Arc::strong_count(&served.imports) > 1;
    if !under_way && !served.book.is_importing() {
        return Ok(());
    }
    let name = served.book.name();
    let cause = match under_way {
        true => format!("an import of network {name} is under way"),
        false => format!(
            "an import of network {name} was cut off; run the same `tenurectl import --apply` again to resume it"
        ),
    };
    Err(Error::new(ErrorCode::NotTakenOver, cause))
}

impl Engine {
    /// Begins an import: what defines the network is durable when this returns.
    ///
    /// It is served while ADD is refused for want of a state: this is one way to get one.
    ///
    /// # Errors
    /// `UnknownNetwork` when the network is neither there nor defined, and what its policy says of the definition.
    pub async fn begin_import(&self, import: &Import) -> Result<Importing> {
        let unknown = || unknown(&import.network);
        if let Some((policy, _)) = &import.definition {
            // An operator waits for it, and no network does. Whether it is needed, and why it is not there, comes out below.
            drop(self.ports.catalogue.load(policy).await);
        }
        let slot = match import.definition {
            Some(_) => self.networks.get_or_create(&import.network)?,
            None => self.networks.known(&import.network).ok_or_else(unknown)?,
        };
        let alone = slot.alone().await;
        let defined = self.redefinition(&alone, import).await?;
        let (network, exclusive) = (import.network.clone(), import.exclusive);
        let policy = match (&defined, self.committer.choice(&network)) {
            (Some((wanted, _)), _) => Arc::clone(wanted.policy.stamp()),
            (None, Some(choice)) => Arc::new(choice.policy),
            (None, None) => return Err(unknown()),
        };
        if import.apply {
            self.ports.journal.health()?;
            let (since, under_way) = {
                let defining = self.defining();
                let mut state = alone.hold();
                if let Some((wanted, definition)) = &defined {
                    // Covered by the barrier below.
                    drop(self.redefine(&defining, &mut state, &network, wanted, definition)?);
                }
                let served = state.as_mut().ok_or_else(unknown)?;
                let begun =
                    LedgerFact::Importing { network: network.clone(), under_way: true, at: self.now() };
                drop(self.committer.commit_one(&mut served.book, begun)?);
                (served.book.next_generation(), Some(Arc::clone(&served.imports)))
            };
            self.ports.journal.barrier().durable().await?;
            return Ok(Importing { network, exclusive, policy, since, draft: None, _under_way: under_way });
        }
        let book = alone.state().as_ref().map(|served| Arc::clone(&served.book));
        // Copying a large book takes its time, and nobody needs to wait for it.
        drop(alone);
        let mut draft = match (book, &defined) {
            (Some(book), _) => book.as_ref().clone(),
            (None, Some(_)) => Book::empty(&network),
            (None, None) => return Err(unknown()),
        };
        if let Some((wanted, definition)) = &defined {
            for fact in self.ledger_facts(&draft, wanted, definition)? {
                draft.apply(draft.through() + 1, &fact).map_err(defect)?;
            }
        }
        draft.expire(self.now(), self.settings().cooldown);
        let (since, draft) = (draft.next_generation(), Some(Box::new(draft)));
        Ok(Importing { network, exclusive, policy, since, draft, _under_way: None })
    }

    /// Judges a part of the claims; says what became of each, in their order. What is said to be taken over or held is durable.
    ///
    /// # Errors
    /// `CheckpointFailed` and `DiskFull`; what was taken over by then is taken over.
    pub async fn import(&self, importing: &mut Importing, part: &[Claim]) -> Result<Vec<Result<Imported>>> {
        let policy = Arc::clone(&importing.policy);
        let rules = Rules {
            exclusive: importing.exclusive,
            since: importing.since,
            policy: &policy,
            now: self.now(),
        };
        if let Some(draft) = &mut importing.draft {
            let mut commit = |book: &mut Box<Book>, fact: LedgerFact| {
                book.apply(book.through() + 1, &fact).map_err(defect)
            };
            return Ok(part.iter().map(|claim| claim.take(draft, rules, &mut commit)).collect());
        }
        let network = importing.network.clone();
        self.observed("import", &network, None, async {
            let slot = self.networks.get(&network).ok_or_else(|| unknown(&network))?;
            let mut outcomes = Vec::with_capacity(part.len());
            for some in part.chunks(AT_ONCE) {
                let mut slot = slot.lock().await;
                let served = slot.as_mut().ok_or_else(|| unknown(&network))?;
                self.ports.journal.health()?;
                self.expire(served, rules.now);
                outcomes.extend(some.iter().map(|claim| {
                    let mut commit = |book: &mut Arc<Book>, fact: LedgerFact| {
                        // Covered by the barrier below.
                        self.committer.commit_one(book, fact).map(drop)
                    };
                    claim.take(&mut served.book, rules, &mut commit)
                }));
            }
            self.ports.journal.barrier().durable().await?;
            Ok(outcomes)
        })
        .await
    }

    /// Ends an import that has judged all there is. The network that it made serves new owners from now on, durably.
    ///
    /// # Errors
    /// `CheckpointFailed` and `DiskFull`; then it is as if the import were cut off.
    pub async fn end_import(&self, importing: Importing) -> Result<()> {
        if importing.draft.is_some() {
            return Ok(());
        }
        let Some(slot) = self.networks.get(&importing.network) else { return Ok(()) };
        let ticket = {
            let mut slot = slot.lock().await;
            let Some(served) = slot.as_mut().filter(|served| served.book.is_importing()) else {
                return Ok(());
            };
            let (network, at) = (importing.network.clone(), self.now());
            let ended = LedgerFact::Importing { network, under_way: false, at };
            self.committer.commit_one(&mut served.book, ended)?
        };
        ticket.durable().await
    }

    /// What the network is to be, unless that is what it is.
    async fn redefinition(&self, alone: &Alone<'_>, import: &Import) -> Result<Option<(Wanted, Definition)>> {
        let Some((policy, config)) = &import.definition else { return Ok(None) };
        let name = &import.network;
        let (policy, by) = {
            let state = alone.state();
            let network = state.as_ref().map(|served| served.book.network());
            let is_fixed = self.is_fixed(&self.bounds(), name, network)?;
            if network.is_some_and(|network| is_fixed || network.config == *config) {
                return Ok(None);
            }
            let choice = self.committer.choice(name).filter(|choice| choice.by == Chooser::Operator);
            match (&*state, &choice) {
                (Some(served), Some(choice)) => (self.policy_of(served, choice)?, Chooser::Operator),
                _ => (self.ports.catalogue.find(policy)?, Chooser::Configuration),
            }
        };
        let wanted = Wanted { policy, by, config: Arc::clone(config), definer: Definer::Request };
        let definition = self.defined(name, &wanted).await?;
        Ok(Some((wanted, definition)))
    }
}

fn unknown(network: &NetworkName) -> Error {
    let cause = format_args!("no network {network} on this node, and no configuration to define it");
    Error::new(ErrorCode::UnknownNetwork, cause)
}
