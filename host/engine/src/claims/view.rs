//! A claim with its addresses, as agents and operators see it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::{Book, Claim, ClaimKey, Presence};
use tenure_types::{AgentName, Allocation, AssignedAddress, Moment, Network, Source};

use super::AgentClaims;
use super::optional::{MissingFamily, missing};

/// A claim with its addresses.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The claim.
    pub claim: Claim,
    /// Assigned addresses, in the order of the network's pools.
    pub places: Vec<Place>,
    /// The network.
    pub network: Arc<Network>,
    /// End of the lease without further contact; `None` if the claim has no lease.
    pub lapses_at: Option<Moment>,
    /// The optional families that it has no address of.
    pub missing: Vec<MissingFamily>,
}

/// An address of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The address as it was assigned.
    pub assigned: AssignedAddress,
    /// Present attributes of the address's range; those at the assignment, if the range is gone.
    pub now: Arc<Source>,
    /// Whether its range is draining, or no longer one of the network's: the agent should claim another.
    pub is_leaving: bool,
}

impl Place {
    /// The gateway that its range has now.
    #[must_use]
    pub fn gateway(&self) -> Option<IpAddr> {
        self.now.gateway
    }
}

impl AgentClaims {
    /// Serves [`Engine::claims_of`](crate::Engine::claims_of).
    pub(crate) fn claims_of(&self, agent: Option<&AgentName>) -> Vec<Claimed> {
        let claims: Vec<Claim> = {
            let node = self.core.committer.node();
            match agent {
                Some(agent) => node.claims.of(agent).cloned().collect(),
                None => node.claims.all().cloned().collect(),
            }
        };
        claims.into_iter().filter_map(|claim| self.claimed(&claim.key)).collect()
    }

    /// Serves [`Engine::claimed`](crate::Engine::claimed).
    pub(crate) fn claimed(&self, key: &ClaimKey) -> Option<Claimed> {
        let slot = self.core.networks.get(&key.network)?;
        let state = slot.state();
        let book = &state.as_ref()?.book;
        let claim = self.core.committer.node().claims.get(key).cloned()?;
        let held = book.owned_by(&key.owner()).filter(|held| held.generation == claim.generation)?;
        let lapses_at = self.lapses_at(&claim);
        Some(shown(book, claim, held, lapses_at))
    }

    /// Returns the end of a claim's lease without further contact.
    pub(super) fn lapses_at(&self, claim: &Claim) -> Option<Moment> {
        let heard = self.heard.last(claim, self.core.now());
        let lease = claim.wish.lease.map(|lease| after(heard, lease));
        let reserved = match claim.presence {
            Presence::Here(_) => None,
            // Nobody could return while the daemon was away, nor before the claim was restored.
            Presence::Reserved(since) => Some(after(heard.max(since), self.core.settings().reserved)),
        };
        [lease, reserved].into_iter().flatten().min_by_key(|at| at.boot_ns)
    }
}

/// The moment this long after another.
pub(super) fn after(at: Moment, by: Duration) -> Moment {
    Moment {
        boot_ns: at.boot_ns.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)),
        wall_ms: at.wall_ms.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)),
    }
}

/// A claim as its book shows it.
pub(super) fn shown(book: &Book, claim: Claim, held: &Allocation, lapses_at: Option<Moment>) -> Claimed {
    let place = |assigned: &AssignedAddress| {
        let (now, is_leaving) = book.source_of(assigned.ip()).unwrap_or((&assigned.source, true));
        Place { assigned: assigned.clone(), now: Arc::clone(now), is_leaving }
    };
    let places = held.addresses.iter().map(place).collect();
    let missing = missing(book, &claim, held);
    Claimed { claim, places, network: Arc::clone(book.network()), lapses_at, missing }
}
