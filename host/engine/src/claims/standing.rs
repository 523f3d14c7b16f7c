//! How agents stand to their claims, as operators see it: whether they are configured, when they were last heard of, and how many
//! watches they have open.

use std::collections::BTreeMap;

use tenure_ledger::{Claim, Presence};
use tenure_types::{AgentName, ConditionName, Moment};

use super::AgentClaims;

/// How a claim's agent stands to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentStanding {
    /// Last contact of the agent, as far as the claim is concerned; `None` if there was none since the daemon started.
    pub last_heard: Option<Moment>,
    /// How many watches that are about the claim the agent has open.
    pub watches: usize,
    /// Whether the configuration has no such agent any more: nobody can ask for the claim, or release it.
    pub is_orphaned: bool,
}

/// The numbers of claims and watches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimFigures {
    /// Claims by agent and state: `held`, `reserved` or `orphaned`.
    pub claims: BTreeMap<(AgentName, &'static str), usize>,
    /// Open watches by agent.
    pub watches: BTreeMap<AgentName, usize>,
}

impl AgentClaims {
    /// Serves [`Engine::standing`](crate::Engine::standing).
    pub(crate) fn standing(&self, claim: &Claim) -> AgentStanding {
        AgentStanding {
            last_heard: self.heard.since_the_start(claim, self.core.now()),
            watches: self.heard.watches_about(claim),
            is_orphaned: !self.core.settings().has_agent(&claim.key.agent),
        }
    }

    /// Serves [`Engine::claim_figures`](crate::Engine::claim_figures).
    pub(crate) fn claim_figures(&self) -> ClaimFigures {
        let settings = self.core.settings();
        let mut figures = ClaimFigures { watches: self.heard.all_watches(), ..ClaimFigures::default() };
        for claim in self.core.committer.node().claims.all() {
            let state = match claim.presence {
                _ if !settings.has_agent(&claim.key.agent) => "orphaned",
                Presence::Here(_) => "held",
                Presence::Reserved(_) => "reserved",
            };
            *figures.claims.entry((claim.key.agent.clone(), state)).or_default() += 1;
        }
        figures
    }

    /// Updates the condition about claims whose agents are gone from the configuration.
    pub(crate) fn look_at_claims(&self) {
        let figures = self.claim_figures();
        let orphaned = figures.claims.into_iter().filter(|((_, state), _)| *state == "orphaned");
        let orphaned = orphaned.map(|((agent, _), number)| {
            let message =
                format!("{number} claims of agent {agent}, which is not in the configuration any more");
            (agent.to_string(), message)
        });
        self.core.conditions.replace(ConditionName::ClaimsOrphaned, orphaned);
    }
}
