//! When agents were last heard of. Kept in memory only: a start counts as hearing of everybody, so a lease never runs out
//! because the daemon was away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tenure_ledger::ClaimKey;
use tenure_types::{AgentName, Moment};

use crate::lock::hold;

/// When agents were last heard of.
pub(crate) struct Heard {
    since: Moment,
    /// A `std::sync::Mutex`, held to read and to change memory.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    claims: BTreeMap<ClaimKey, Moment>,
    /// How many requests for each claim are under way.
    asking: BTreeMap<ClaimKey, usize>,
    agents: BTreeMap<AgentName, Moment>,
    /// How many watches each agent has open.
    watching: BTreeMap<AgentName, usize>,
}

/// Requests for claims that are under way: until this is dropped, their agent is there, so their leases do not run out.
pub(crate) struct Asking {
    heard: Arc<Heard>,
    keys: Vec<ClaimKey>,
}

/// An open watch, which keeps all leases of its agent.
pub struct Watching {
    heard: Arc<Heard>,
    agent: AgentName,
    now: Box<dyn Fn() -> Moment + Send + Sync>,
}

impl Heard {
    pub(crate) fn new(since: Moment) -> Self {
        Self { since, state: Mutex::default() }
    }

    /// An agent asked for a claim.
    pub(super) fn asked(&self, key: &ClaimKey, now: Moment) {
        hold(&self.state).claims.insert(key.clone(), now);
    }

    /// An agent asks for these claims, and has no answer yet.
    pub(super) fn asking(self: &Arc<Self>, keys: impl IntoIterator<Item = ClaimKey>) -> Asking {
        let keys: Vec<ClaimKey> = keys.into_iter().collect();
        let mut state = hold(&self.state);
        keys.iter().for_each(|key| *state.asking.entry(key.clone()).or_default() += 1);
        drop(state);
        Asking { heard: Arc::clone(self), keys }
    }

    /// A claim has ended.
    pub(super) fn forget(&self, key: &ClaimKey) {
        hold(&self.state).claims.remove(key);
    }

    /// When a claim's agent was last heard of; now, if it watches or is asking for the claim.
    pub(super) fn last(&self, key: &ClaimKey, now: Moment) -> Moment {
        self.since_the_start(key, now).unwrap_or(self.since)
    }

    /// As [`last`](Self::last); `None` if it was not heard of since the start.
    pub(super) fn since_the_start(&self, key: &ClaimKey, now: Moment) -> Option<Moment> {
        let state = hold(&self.state);
        if state.watching.contains_key(&key.agent) || state.asking.contains_key(key) {
            return Some(now);
        }
        let times = [state.claims.get(key), state.agents.get(&key.agent)];
        times.into_iter().flatten().max_by_key(|at| at.boot_ns).copied()
    }

    /// The number of each agent's open watches.
    pub(super) fn all_watches(&self) -> BTreeMap<AgentName, usize> {
        hold(&self.state).watching.clone()
    }

    /// The number of an agent's open watches.
    pub(super) fn watches(&self, agent: &AgentName) -> usize {
        hold(&self.state).watching.get(agent).copied().unwrap_or_default()
    }

    pub(super) fn watch(
        self: &Arc<Self>,
        agent: &AgentName,
        now: impl Fn() -> Moment + Send + Sync + 'static,
    ) -> Watching {
        *hold(&self.state).watching.entry(agent.clone()).or_default() += 1;
        Watching { heard: Arc::clone(self), agent: agent.clone(), now: Box::new(now) }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let mut state = hold(&self.heard.state);
        for key in &self.keys {
            if let Some(under_way) = state.asking.get_mut(key) {
                *under_way -= 1;
                if *under_way == 0 {
                    state.asking.remove(key);
                }
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let now = (self.now)();
        let mut state = hold(&self.heard.state);
        if let Some(open) = state.watching.get_mut(&self.agent) {
            *open -= 1;
            if *open == 0 {
                state.watching.remove(&self.agent);
                state.agents.insert(self.agent.clone(), now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_types::{ClaimName, NetworkName};

    use super::*;

    #[test]
    fn a_claim_that_is_made_anew_has_not_been_heard_of_before() {
        let at = |boot_ns| Moment { boot_ns, wall_ms: 0 };
        let key = ClaimKey {
            agent: AgentName::new("cilium").unwrap(),
            network: NetworkName::new("net").unwrap(),
            name: ClaimName::new("router").unwrap(),
        };
        let heard = Heard::new(at(1));
        heard.asked(&key, at(5));
        assert_eq!(heard.last(&key, at(9)), at(5));
        heard.forget(&key);
        assert_eq!(heard.last(&key, at(9)), at(1), "only the start is left");
    }
}
