//! The order of an agent's requests: one at a time for each agent, first come, first served.
//!
//! The map is behind a `std::sync::Mutex`, held to look an agent up. The configuration names the agents, so there are few.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tenure_types::{AgentName, Error, ErrorCode, Result};
use tokio::sync::OwnedMutexGuard;

use crate::lock::hold;

/// How many requests of one agent may be served or wait. The service lets fewer work at a time; leases that lapse and operators come on top.
const MOST: usize = 128;

/// The turns of all agents that have asked for anything.
#[derive(Default)]
pub(crate) struct Turns {
    lines: Mutex<BTreeMap<AgentName, Arc<tokio::sync::Mutex<()>>>>,
}

impl Turns {
    /// Waits for an agent's turn.
    ///
    /// # Errors
    /// `Overloaded` if too many of its requests wait already.
    pub(crate) async fn enter(&self, agent: &AgentName) -> Result<OwnedMutexGuard<()>> {
        let line = {
            let mut lines = hold(&self.lines);
            let line = lines.entry(agent.clone()).or_default();
            // The map's own reference is one; each request that waits or is served has another.
            if Arc::strong_count(line) > MOST {
                let cause = format_args!("{MOST} requests of agent {agent} are already waiting");
                return Err(Error::new(ErrorCode::Overloaded, cause));
            }
            Arc::clone(line)
        };
        Ok(line.lock_owned().await)
    }

    /// Takes an agent's turn, unless a request of it is served or waits.
    pub(crate) fn try_enter(&self, agent: &AgentName) -> Option<OwnedMutexGuard<()>> {
        Arc::clone(hold(&self.lines).entry(agent.clone()).or_default()).try_lock_owned().ok()
    }
}
