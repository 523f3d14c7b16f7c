//! Taking over what another IPAM handed out: the ledger's checks as for an ADD, but no policy is asked.
//!
//! It is tried on a copy of the network's book first. A dry run ends there; else what the copy took is staged and applied,
//! all with the book held, so that the copy's answers are the book's.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{
    Error, ErrorCode, Network, NetworkConfig, NetworkName, Owner, PodIdentity, PolicyName, Proposal, Record,
    Request, Result,
};

use crate::engine::{Engine, defect};
use crate::networks::Served;

/// Allocations of one network that another IPAM made and that live.
#[derive(Debug, Clone)]
pub struct Import {
    /// The network.
    pub network: NetworkName,
    /// What defines it, where it is not defined yet or is to be defined anew.
    pub definition: Option<(PolicyName, NetworkConfig)>,
    /// The allocations.
    pub living: Vec<Living>,
    /// Whether anything is to change.
    pub apply: bool,
}

/// An owner with the addresses that it uses already.
#[derive(Debug, Clone)]
pub struct Living {
    /// Who owns them.
    pub owner: Owner,
    /// One address of each pool, in any order.
    pub addresses: Vec<IpAddr>,
    /// The pod behind it, where known.
    pub pod: Option<PodIdentity>,
}

/// What became of one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// The ledger takes it over.
    Taken,
    /// The ledger has it already.
    Held,
}

impl Engine {
    /// Takes allocations over, each for itself; says what became of each, in their order. What is said to be taken is durable.
    ///
    /// It is served while ADD is refused for want of a state: this is one way to get one.
    ///
    /// # Errors
    /// `UnknownNetwork` when the network is neither there nor defined, and what its policy says of the definition.
    pub async fn import(&self, import: Import) -> Result<Vec<Result<Imported>>> {
        let work = self.serve_import(&import);
        if !import.apply {
            // Only a question: nothing was requested yet.
            return work.await;
        }
        self.observed("import", &import.network, None, work).await
    }

    async fn serve_import(&self, import: &Import) -> Result<Vec<Result<Imported>>> {
        let unknown = || {
            let cause =
                format_args!("no network {} on this node, and no configuration to define it", import.network);
            Error::new(ErrorCode::UnknownNetwork, cause)
        };
        let slot = match import.definition {
            Some(_) => self.networks.get_or_create(&import.network),
            None => self.networks.get(&import.network).ok_or_else(unknown)?,
        };
        let mut slot = slot.lock().await;
        let defined = self.redefinition(slot.as_ref(), import)?;
        let mut draft = match (slot.as_ref(), &defined) {
            (Some(served), _) => served.book.as_ref().clone(),
            (None, Some(network)) => Book::new(network.clone()),
            (None, None) => return Err(unknown()),
        };
        if let Some(network) = &defined {
            let record = Record::Network(Box::new(network.clone()));
            draft.apply(draft.through() + 1, &record).map_err(defect)?;
        }
        draft.expire(self.now(), self.settings.cooldown);
        let mut records = Vec::new();
        let outcomes =
            import.living.iter().map(|living| self.take(&mut draft, living, &mut records)).collect();
        if !import.apply {
            return Ok(outcomes);
        }

        self.ports.journal.health()?;
        if let Some(network) = defined {
            // Covered by the barrier below, as are the others.
            drop(self.redefine(&mut slot, network)?);
        }
        let served = slot.as_mut().ok_or_else(unknown)?;
        self.expire(served, self.now());
        for record in &records {
            drop(self.stage(served, record)?);
        }
        let barrier = self.ports.journal.barrier();
        drop(slot);
        barrier.durable().await?;
        Ok(outcomes)
    }

    /// The network as it is to be defined, unless that is how it is defined.
    fn redefinition(&self, served: Option<&Served>, import: &Import) -> Result<Option<Network>> {
        let Some((policy, config)) = &import.definition else { return Ok(None) };
        let network = served.map(|served| served.book.network());
        if network.is_some_and(|network| network.config == *config) {
            return Ok(None);
        }
        let activated = network.is_some_and(|network| network.activated);
        let policy = match served {
            Some(served) if activated => self.policy_of(served)?,
            _ => self.ports.catalogue.load(policy)?,
        };
        self.defined(policy.as_ref(), &import.network, config, activated).map(Some)
    }

    /// Takes one over into a draft of the book, and keeps the record of it.
    fn take(&self, draft: &mut Book, living: &Living, records: &mut Vec<Record>) -> Result<Imported> {
        let unavailable = |cause: String| Error::new(ErrorCode::AddressUnavailable, cause);
        if let Some(held) = draft.owned_by(&living.owner) {
            let mut has: Vec<IpAddr> = held.addresses.iter().map(|held| held.address.addr()).collect();
            let mut wants = living.addresses.clone();
            has.sort_unstable();
            wants.sort_unstable();
            if has == wants {
                return Ok(Imported::Held);
            }
        }
        let network = Arc::clone(draft.network());
        let located = |address: &IpAddr| {
            let (pool, _) = network.definition.locate(*address).ok_or_else(|| {
                unavailable(format!("{address} is in no range of network {}", network.name))
            })?;
            Ok((pool, *address))
        };
        let proposal = Proposal { addresses: living.addresses.iter().map(located).collect::<Result<_>>()? };
        let now = self.now();
        let request = Request {
            network: network.name.clone(),
            owner: living.owner.clone(),
            requested: living.addresses.clone(),
            pod: living.pod.clone(),
            netns: String::new(),
            netns_seen: false,
            requested_at: now,
        };
        let allocation = draft
            .admit(&request, &proposal, &network.policy, now)
            .map_err(|violation| unavailable(violation.to_string()))?;
        let record = Record::Allocate(Arc::new(allocation));
        draft.apply(draft.through() + 1, &record).map_err(defect)?;
        records.push(record);
        Ok(Imported::Taken)
    }
}
