//! The picture that an agent has of its claims by watching them: everything once, and then each change. At rest it
//! equals what a list would return.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use tenure_engine::{Changes, Claimed, ClaimedPlace};
use tenure_ledger::{Claim, ClaimKey};
use tenure_types::{AgentName, Network};

/// A claim as it is told; without the time at which it lapses, which moves by itself.
type Told = (Claim, Vec<ClaimedPlace>, Arc<Network>);

/// The claims of an agent, by its watch.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    version: Option<String>,
    claims: BTreeMap<ClaimKey, Told>,
}

fn told(claimed: Claimed) -> (ClaimKey, Told) {
    (claimed.claim.key.clone(), (claimed.claim, claimed.places, claimed.network))
}

impl Picture {
    /// The version from which the agent resumes.
    pub(crate) fn version(&self) -> Option<String> {
        self.version.clone()
    }

    /// Applies the changes that the agent is told about.
    pub(crate) fn apply(&mut self, agent: &AgentName, changes: Changes) -> Result<()> {
        ensure!(
            changes.is_all || self.version.is_some(),
            "{agent} was told about changes to claims that it never knew"
        );
        if changes.is_all {
            self.claims.clear();
        }
        for (key, _) in &changes.released {
            ensure!(key.agent == *agent, "{agent} was told about {key}");
            self.claims.remove(key);
        }
        self.claims.extend(changes.claims.into_iter().map(told));
        self.version = Some(changes.version);
        Ok(())
    }

    /// Checks that the agent, which has been told about everything, knows what a list returns.
    pub(crate) fn check(&self, agent: &AgentName, listed: Vec<Claimed>) -> Result<()> {
        let listed: BTreeMap<ClaimKey, Told> = listed.into_iter().map(told).collect();
        ensure!(
            self.claims == listed,
            "W: the watch of {agent} has told {:?}, but there is {listed:?}",
            self.claims
        );
        Ok(())
    }
}
