//! What has changed about claims since a version, for agents that watch theirs.
//!
//! A version is a place in the log, within one run of the daemon; it is opaque to agents. Only a bounded number of past
//! releases is kept: whoever asks about an older version, or one of another run, gets everything anew.

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
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// The place of the last change.
    last: u64,
    /// All releases after this place are known.
    since: u64,
    claims: BTreeMap<ClaimKey, u64>,
    networks: BTreeMap<NetworkName, u64>,
    /// The place of the last change of each agent's claims, and of any network.
    by_agent: BTreeMap<AgentName, u64>,
    any_network: u64,
    released: VecDeque<(u64, ClaimKey, Box<str>)>,
}

/// What has changed since a version.
pub(super) struct Since {
    pub(super) version: String,
    pub(super) is_all: bool,
    /// Whether nothing has changed that concerns the agent.
    pub(super) is_quiet: bool,
    /// The place that the version names.
    pub(super) after: u64,
    pub(super) released: Vec<(ClaimKey, Box<str>)>,
}

impl Feed {
    /// The feed of a run that began at this moment, with the log at this place.
    pub(crate) fn new(began: Moment, place: u64) -> Self {
        let state = State { last: place, since: place, ..State::default() };
        Self { run: began.boot_ns, state: Mutex::new(state), changed: watch::Sender::new(place) }
    }

    /// Notes a fact that was applied.
    pub(crate) fn applied(&self, place: u64, fact: &Fact) {
        {
            let mut state = hold(&self.state);
            match fact {
                Fact::Claims(ClaimFact::Released { key, reason, .. }) => state.release(place, key, reason),
                Fact::Claims(fact) => _ = state.claims.insert(fact.key().clone(), place),
                Fact::Ledger(LedgerFact::Removed { network, .. }) => _ = state.networks.remove(network),
                Fact::Ledger(
                    LedgerFact::Defined(_)
                    | LedgerFact::RangeAdded { .. }
                    | LedgerFact::RangeDraining { .. }
                    | LedgerFact::RangeRemoved { .. },
                ) => _ = fact.network().map(|network| state.networks.insert(network.clone(), place)),
                Fact::Ledger(_)
                | Fact::Choices(_)
                | Fact::Components(_)
                | Fact::States(_)
                | Fact::Delegations(_)
                | Fact::Effects(_)
                | Fact::Moves(_) => return,
            }
            match fact {
                Fact::Claims(fact) => _ = state.by_agent.insert(fact.key().agent.clone(), place),
                _ => state.any_network = place,
            }
            state.last = place;
        }
        self.changed.send_replace(place);
    }

    /// Notified of the place of each change.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn version(&self, place: u64) -> String {
        format!("{:x}-{place}", self.run)
    }

    /// The place that a version of this run names.
    fn place(&self, version: &str) -> Option<u64> {
        let (run, place) = version.split_once('-')?;
        (u64::from_str_radix(run, 16).ok()? == self.run).then(|| place.parse().ok()).flatten()
    }

    /// What has changed for an agent since a version.
    pub(super) fn since(&self, agent: &AgentName, version: Option<&str>) -> Since {
        let state = hold(&self.state);
        let after = version.and_then(|version| self.place(version));
        let after = after.filter(|after| (state.since..=state.last).contains(after));
        let released = state
            .released
            .iter()
            .filter(|(place, key, _)| after.is_some_and(|after| *place > after) && key.agent == *agent);
        let of_agent = state.by_agent.get(agent).copied().unwrap_or_default();
        Since {
            version: self.version(state.last),
            is_all: after.is_none(),
            is_quiet: after.is_some_and(|after| of_agent.max(state.any_network) <= after),
            after: after.unwrap_or_default(),
            released: released.map(|(_, key, reason)| (key.clone(), reason.clone())).collect(),
        }
    }

    /// Those of these claims that have changed after a place, or whose networks have.
    pub(super) fn changed_after(&self, keys: Vec<ClaimKey>, after: u64) -> Vec<ClaimKey> {
        let state = hold(&self.state);
        let has_changed = |key: &ClaimKey| {
            let places = [state.claims.get(key), state.networks.get(&key.network)];
            places.into_iter().flatten().any(|place| *place > after)
        };
        keys.into_iter().filter(has_changed).collect()
    }
}

impl State {
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
}
