//! The chapter `claims`: what agents on the node have asked for, in addition to what the books say about the addresses.
//!
//! A claim and the allocation that it holds begin in one group of facts and end in one, so that one never exists without
//! the other. The book alone says who owns an address; this chapter says what the agent wants and whether it is still there.
//!
//! ```text
//!          claimed (with its allocation)            released, lapsed (with its allocation)
//!  none ────────────────────────────────▶ here ─────────────────────────────────────────▶ none
//!                                          │ ▲                                             ▲
//!                                   reboot │ │ confirmed: the agent asks again             │
//!                                          ▼ │                                             │
//!                                      reserved ───────────────────────────────────────────┘
//! ```

mod claim;
mod fact;

use std::collections::BTreeMap;

use tenure_types::{AgentName, Moment};

pub use self::claim::{Claim, ClaimKey, Claimant, Families, Presence, Wish};
pub use self::fact::ClaimFact;

/// All claims of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claims {
    through: u64,
    by_agent: BTreeMap<AgentName, BTreeMap<ClaimKey, Claim>>,
}

impl Claims {
    /// Restores the claims of a snapshot, which are current as of a place in the log.
    #[must_use]
    pub fn restore(through: u64, all: impl IntoIterator<Item = Claim>) -> Self {
        let mut claims = Self { through, ..Self::default() };
        all.into_iter().for_each(|claim| claims.insert(claim));
        claims
    }

    /// The place in the log that the state is current as of.
    #[must_use]
    pub fn through(&self) -> u64 {
        self.through
    }

    /// All claims, by agent, network and name.
    pub fn all(&self) -> impl Iterator<Item = &Claim> {
        self.by_agent.values().flat_map(BTreeMap::values)
    }

    /// An agent's claims, by network and name.
    pub fn of(&self, agent: &AgentName) -> impl Iterator<Item = &Claim> {
        self.by_agent.get(agent).into_iter().flat_map(BTreeMap::values)
    }

    /// The number of an agent's claims.
    #[must_use]
    pub fn count(&self, agent: &AgentName) -> usize {
        self.by_agent.get(agent).map_or(0, BTreeMap::len)
    }

    /// A claim.
    #[must_use]
    pub fn get(&self, key: &ClaimKey) -> Option<&Claim> {
        self.by_agent.get(&key.agent)?.get(key)
    }

    /// Applies a fact. A fact applied before, judging by its place in the log, changes nothing.
    pub fn apply(&mut self, place: u64, fact: &ClaimFact) {
        if place <= self.through {
            return;
        }
        self.through = place;
        match fact {
            ClaimFact::Claimed(claim) => self.insert(claim.clone()),
            ClaimFact::Confirmed { key, at } => {
                let claims = self.by_agent.get_mut(&key.agent);
                if let Some(claim) = claims.and_then(|claims| claims.get_mut(key)) {
                    claim.presence = Presence::Here(*at);
                }
            }
            ClaimFact::Released { key, .. } => self.remove(key),
        }
    }

    /// Enters another boot: from now on, the claims are reserved for their agents until these return.
    pub fn enter_boot(&mut self, now: Moment) {
        for claim in self.by_agent.values_mut().flat_map(BTreeMap::values_mut) {
            claim.presence = Presence::Reserved(now);
        }
    }

    fn insert(&mut self, claim: Claim) {
        self.by_agent.entry(claim.key.agent.clone()).or_default().insert(claim.key.clone(), claim);
    }

    fn remove(&mut self, key: &ClaimKey) {
        let Some(claims) = self.by_agent.get_mut(&key.agent) else { return };
        claims.remove(key);
        if claims.is_empty() {
            self.by_agent.remove(&key.agent);
        }
    }
}

#[cfg(test)]
mod tests;
