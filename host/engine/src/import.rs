//! Taking over what another IPAM handed out: the ledger's checks as for an ADD, but no policy is asked.
//!
//! An import comes in parts, each durable when it is answered. A few claims of it at a time are judged and staged with the book
//! held, so that nothing waits for more than those. New owners are refused until it ends: an ADD between two parts could get an
//! address that lives. A network that the import makes remembers that durably, so that an import that was cut off is repeated. A
//! dry run judges a copy of the book instead, by the same rules.

mod claim;

use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{
    Error, ErrorCode, Generation, Network, NetworkConfig, NetworkName, PolicyName, Record, Result,
};

pub use self::claim::{Claim, Imported, Place};
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
    pub definition: Option<(PolicyName, NetworkConfig)>,
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
    let (network, under_way) = (served.book.network(), Arc::strong_count(&served.imports) > 1);
    if !under_way && !network.importing {
        return Ok(());
    }
    let name = &network.name;
    let cause = match under_way {
        true => format!("an import of network {name} is under way"),
        false => format!(
            "an import of network {name} was cut off; `tenurectl import --apply`, as the first time, goes on with it"
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
        if import.apply {
            self.ports.journal.health()?;
            let (since, under_way) = {
                let mut state = alone.hold();
                if let Some(defined) = defined {
                    let importing = state.is_none();
                    // Covered by the barrier below.
                    drop(self.redefine(&mut state, Network { importing, ..defined })?);
                }
                let served = state.as_ref().ok_or_else(unknown)?;
                (served.book.next_generation(), Some(Arc::clone(&served.imports)))
            };
            self.ports.journal.barrier().durable().await?;
            return Ok(Importing { network, exclusive, since, draft: None, _under_way: under_way });
        }
        let book = alone.state().as_ref().map(|served| Arc::clone(&served.book));
        // Copying a large book takes its time, and nobody needs to wait for it.
        drop(alone);
        let mut draft = match (book, &defined) {
            (Some(book), _) => book.as_ref().clone(),
            (None, Some(network)) => Book::new(network.clone()),
            (None, None) => return Err(unknown()),
        };
        if let Some(network) = defined {
            draft.apply(draft.through() + 1, &Record::Network(Box::new(network))).map_err(defect)?;
        }
        draft.expire(self.now(), self.settings.cooldown);
        let (since, draft) = (draft.next_generation(), Some(Box::new(draft)));
        Ok(Importing { network, exclusive, since, draft, _under_way: None })
    }

    /// Judges a part of the claims; says what became of each, in their order. What is said to be taken over or held is durable.
    ///
    /// # Errors
    /// `CheckpointFailed` and `DiskFull`; what was taken over by then is taken over.
    pub async fn import(&self, importing: &mut Importing, part: &[Claim]) -> Result<Vec<Result<Imported>>> {
        let (now, rules) = (self.now(), (importing.exclusive, importing.since));
        if let Some(draft) = &mut importing.draft {
            let mut commit =
                |book: &mut Book, record: Record| book.apply(book.through() + 1, &record).map_err(defect);
            return Ok(part.iter().map(|claim| claim.take(draft, rules, now, &mut commit)).collect());
        }
        let network = importing.network.clone();
        self.observed("import", &network, None, async {
            let slot = self.networks.get(&network).ok_or_else(|| unknown(&network))?;
            let mut outcomes = Vec::with_capacity(part.len());
            for some in part.chunks(AT_ONCE) {
                let mut slot = slot.lock().await;
                let served = slot.as_mut().ok_or_else(|| unknown(&network))?;
                self.ports.journal.health()?;
                self.expire(served, now);
                let book = Arc::make_mut(&mut served.book);
                let mut commit = |book: &mut Book, record: Record| {
                    // Covered by the barrier below.
                    let (place, _ticket) = self.ports.journal.stage(&record);
                    book.apply(place, &record).map_err(defect)
                };
                outcomes.extend(some.iter().map(|claim| claim.take(book, rules, now, &mut commit)));
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
            let Some(served) = slot.as_mut().filter(|served| served.book.network().importing) else {
                return Ok(());
            };
            let network = Network { importing: false, ..served.book.network().as_ref().clone() };
            self.stage(served, &Record::Network(Box::new(network)))?
        };
        ticket.durable().await
    }

    /// The network as it is to be defined, unless that is how it is defined.
    async fn redefinition(&self, alone: &Alone<'_>, import: &Import) -> Result<Option<Network>> {
        let Some((policy, config)) = &import.definition else { return Ok(None) };
        let (policy, activated) = {
            let state = alone.state();
            let network = state.as_ref().map(|served| served.book.network());
            if network.is_some_and(|network| network.config == *config) {
                return Ok(None);
            }
            let activated = network.is_some_and(|network| network.activated);
            let policy = match &*state {
                Some(served) if activated => self.policy_of(served)?,
                _ => self.ports.catalogue.find(policy)?,
            };
            (policy, activated)
        };
        self.defined(policy.as_ref(), &import.network, config, activated).await.map(Some)
    }
}

fn unknown(network: &NetworkName) -> Error {
    let cause = format_args!("no network {network} on this node, and no configuration to define it");
    Error::new(ErrorCode::UnknownNetwork, cause)
}
