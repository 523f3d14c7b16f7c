//! Changes of claims since a version, for agents that watch theirs.
//!
//! A version is a place in the log, within one run of the daemon; it is opaque to agents. Only a bounded number of past
//! releases is kept: a watch that asks about an older version, or one of another run, gets the whole list.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use tenure_ledger::{ClaimFact, ClaimKey, Fact, LedgerFact};
use tenure_types::{AgentName, Moment, NetworkName};
use tokio::sync::watch;

use crate::lock::hold;

/// How many releases are kept.
const MOST_RELEASES: usize = 4096;

/// Records which claims and networks changed, and at which place in the log.
pub(crate) struct Feed {
    /// Distinguishes the runs of the daemon.
    run: u64,
    /// A `std::sync::Mutex`, held to read and to change memory. Taken after the locks of the state that changes.
    state: Mutex<State>,
    /// Notified of each change of a network, for callers that wait for one.
    networks: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// The place of the last change.
    last: u64,
    /// All releases after this place are known.
    since: u64,
    claims: BTreeMap<ClaimKey, u64>,
    networks: BTreeMap<NetworkName, u64>,
    by_agent: BTreeMap<AgentName, AgentFeed>,
    /// The place of the last change of any network.
    any_network: u64,
    released: VecDeque<(u64, ClaimKey, Box<str>)>,
}

/// The changes that concern one agent.
#[derive(Default)]
struct AgentFeed {
    /// The place of the last change of its claims.
    last: u64,
    /// Notified of each change of its claims or of a network, and of no other agent's.
    changed: watch::Sender<u64>,
}

/// The changes since a version.
pub(crate) struct Since {
    pub(crate) version: String,
    pub(crate) is_all: bool,
    /// Whether nothing has changed that concerns the agent.
    pub(crate) is_quiet: bool,
    /// The place that the version names.
    pub(crate) after: u64,
    pub(crate) released: Vec<(ClaimKey, Box<str>)>,
}

impl Feed {
    /// The feed of a run that began at this moment, with the log at this place.
    pub(crate) fn new(began: Moment, place: u64) -> Self {
        let state = State { last: place, since: place, ..State::default() };
        Self { run: began.boot_ns, state: Mutex::new(state), networks: watch::Sender::new(place) }
    }

    /// Notes a fact that was applied. What concerns no claim and no network's definition, such as a pod's addresses, costs a look.
    pub(crate) fn applied(&self, place: u64, fact: &Fact) {
        match fact {
            Fact::Claims(fact) => hold(&self.state).claim(place, fact),
            Fact::Ledger(
                fact @ (LedgerFact::Defined(_)
                | LedgerFact::Removed { .. }
                | LedgerFact::RangeAdded { .. }
                | LedgerFact::RangeDraining { .. }
                | LedgerFact::RangeRemoved { .. }),
            ) => {
                hold(&self.state).network(place, fact);
                self.networks.send_replace(place);
            }
            // Of no claim, and no change of where one could be.
            _ => {}
        }
    }

    /// Notified of the place of each change that concerns an agent.
    pub(crate) fn subscribe(&self, agent: &AgentName) -> watch::Receiver<u64> {
        hold(&self.state).by_agent.entry(agent.clone()).or_default().changed.subscribe()
    }

    /// Notified of the place of each change of a network.
    pub(crate) fn subscribe_to_networks(&self) -> watch::Receiver<u64> {
        self.networks.subscribe()
    }

    fn version(&self, place: u64) -> String {
        format!("{:x}-{place}", self.run)
    }

    /// The place that a version of this run names.
    fn place(&self, version: &str) -> Option<u64> {
        let (run, place) = version.split_once('-')?;
        (u64::from_str_radix(run, 16).ok()? == self.run).then(|| place.parse().ok()).flatten()
    }

    /// Returns the changes for an agent since a version.
    pub(crate) fn since(&self, agent: &AgentName, version: Option<&str>) -> Since {
        let state = hold(&self.state);
        let after = version.and_then(|version| self.place(version));
        let after = after.filter(|after| (state.since..=state.last).contains(after));
        let released = state
            .released
            .iter()
            .filter(|(place, key, _)| after.is_some_and(|after| *place > after) && key.agent == *agent);
        let of_agent = state.by_agent.get(agent).map_or(0, |of| of.last);
        Since {
            version: self.version(state.last),
            is_all: after.is_none(),
            is_quiet: after.is_some_and(|after| of_agent.max(state.any_network) <= after),
            after: after.unwrap_or_default(),
            released: released.map(|(_, key, reason)| (key.clone(), reason.clone())).collect(),
        }
    }

    /// Returns the claims that have changed after a place, or whose networks have.
    pub(crate) fn changed_after(&self, keys: Vec<ClaimKey>, after: u64) -> Vec<ClaimKey> {
        let state = hold(&self.state);
        let has_changed = |key: &ClaimKey| {
            let places = [state.claims.get(key), state.networks.get(&key.network)];
            places.into_iter().flatten().any(|place| *place > after)
        };
        keys.into_iter().filter(has_changed).collect()
    }
}

impl State {
    /// Notes a change of a claim, and tells its agent.
    fn claim(&mut self, place: u64, fact: &ClaimFact) {
        match fact {
            ClaimFact::Released { key, reason, .. } => self.release(place, key, reason),
            fact => _ = self.claims.insert(fact.key().clone(), place),
        }
        let of_agent = self.by_agent.entry(fact.key().agent.clone()).or_default();
        of_agent.last = place;
        of_agent.changed.send_replace(place);
        self.last = place;
    }

    /// Notes a change of a network, and tells all agents.
    fn network(&mut self, place: u64, fact: &LedgerFact) {
        match fact {
            LedgerFact::Removed { network, .. } => _ = self.networks.remove(network),
            fact => _ = self.networks.insert(fact.network().clone(), place),
        }
        self.any_network = place;
        self.by_agent.values().for_each(|of| _ = of.changed.send_replace(place));
        self.last = place;
    }

    fn release(&mut self, place: u64, key: &ClaimKey, reason: &str) {
        self.claims.remove(key);
        if self.released.len() >= MOST_RELEASES
            && let Some((oldest, ..)) = self.released.pop_front()
        {
            self.since = oldest;
        }
        self.released.push_back((place, key.clone(), reason.into()));
    }
}

#[cfg(test)]
mod tests {
    use tenure_types::ClaimName;

    use super::*;

    #[test]
    fn what_other_agents_claim_does_not_concern_an_agent_but_a_change_of_a_network_does() {
        let [cilium, monitor] = ["cilium", "monitor"].map(|name| AgentName::new(name).unwrap());
        let (network, at) = (NetworkName::new("net").unwrap(), Moment::default());
        let name = ClaimName::new("probe").unwrap();
        let key = ClaimKey { agent: monitor.clone(), network: network.clone(), name };
        let feed = Feed::new(at, 1);
        let since = |agent, version: &Since| feed.since(agent, Some(&version.version));
        let before = feed.since(&cilium, None);
        feed.applied(2, &ClaimFact::Confirmed { key, at }.into());
        assert!(since(&cilium, &before).is_quiet && !since(&monitor, &before).is_quiet);
        let before = since(&cilium, &before);
        assert!(since(&cilium, &before).is_quiet);
        feed.applied(3, &LedgerFact::Removed { network, at }.into());
        assert!(!since(&cilium, &before).is_quiet);
    }

    /// Regression: every watch was woken by whatever any agent claimed.
    #[test]
    fn an_agent_is_woken_by_what_concerns_it_only() {
        let [cilium, monitor] = ["cilium", "monitor"].map(|name| AgentName::new(name).unwrap());
        let (network, at) = (NetworkName::new("net").unwrap(), Moment::default());
        let feed = Feed::new(at, 1);
        let mut changed = [feed.subscribe(&cilium), feed.subscribe(&monitor), feed.subscribe_to_networks()];
        let mut woken = || {
            let woken = changed.each_ref().map(|changed| changed.has_changed().unwrap());
            changed.iter_mut().for_each(watch::Receiver::mark_unchanged);
            woken
        };
        let name = ClaimName::new("probe").unwrap();
        let key = ClaimKey { agent: monitor, network: network.clone(), name };
        feed.applied(2, &ClaimFact::Confirmed { key, at }.into());
        assert_eq!(woken(), [false, true, false]);
        feed.applied(3, &LedgerFact::Importing { network: network.clone(), under_way: true, at }.into());
        assert_eq!(woken(), [false, false, false]);
        feed.applied(4, &LedgerFact::Removed { network, at }.into());
        assert_eq!(woken(), [true, true, true]);
    }
}
