//! The chapter `states`: what policies remember on each network.
//!
//! A state outlives a boot: it is a policy's memory, not an allocation. It ends with its network.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use tenure_types::{Moment, NetworkName, PolicyStamp};

/// How many other policies' last states are remembered for a network.
const MOST_BEFORE: usize = 4;

/// A policy's state on a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyState {
    /// The policy that wrote it.
    pub policy: PolicyStamp,
    /// Counts the changes of the network's state; never counts down.
    pub version: u64,
    /// State; empty for a policy that begins without one.
    pub bytes: Arc<[u8]>,
    /// Time at which the state was written.
    pub at: Moment,
}

/// The states of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The state written last.
    pub now: PolicyState,
    /// The last states of other policies, the latest first.
    pub before: VecDeque<PolicyState>,
}

impl Memory {
    /// The last state of the policy with this digest.
    #[must_use]
    pub fn of(&self, policy: &PolicyStamp) -> Option<&PolicyState> {
        [&self.now].into_iter().chain(&self.before).find(|state| state.policy.digest == policy.digest)
    }

    fn keep(&mut self, state: PolicyState) {
        let before = std::mem::replace(&mut self.now, state);
        let digest = Arc::clone(&self.now.policy.digest);
        self.before.retain(|other| other.policy.digest != digest);
        if before.policy.digest != digest {
            self.before.push_front(before);
            self.before.truncate(MOST_BEFORE);
        }
    }

    fn undo(&mut self, state: PolicyState) {
        self.before.retain(|other| other.policy.digest != state.policy.digest);
        self.now = state;
    }
}

/// A fact of this chapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateFact {
    /// A state was written: with an accepted proposal, by a migration, or by an operator.
    Kept {
        /// The network.
        network: NetworkName,
        /// The state.
        state: PolicyState,
    },
    /// The last change did not stand, and the state before it is in force again.
    Undone {
        /// The network.
        network: NetworkName,
        /// The state before, under a new version.
        state: PolicyState,
    },
    /// The network was removed, and its states are forgotten.
    Forgotten {
        /// The network.
        network: NetworkName,
        /// Time of the fact.
        at: Moment,
    },
}

impl StateFact {
    /// The network that the fact is about.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        match self {
            Self::Kept { network, .. } | Self::Undone { network, .. } | Self::Forgotten { network, .. } => {
                network
            }
        }
    }

    /// The time of the fact.
    #[must_use]
    pub fn at(&self) -> Moment {
        match self {
            Self::Kept { state, .. } | Self::Undone { state, .. } => state.at,
            Self::Forgotten { at, .. } => *at,
        }
    }
}

impl fmt::Display for StateFact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, PolicyState { policy, version, bytes, .. }) = match self {
            Self::Kept { state, .. } => ("kept", state),
            Self::Undone { state, .. } => ("undone", state),
            Self::Forgotten { .. } => return write!(formatter, "{:<10} the states", "forgotten"),
        };
        write!(formatter, "{verb:<10} state version {version} of {policy}, {} B", bytes.len())
    }
}

/// The states of each network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct States {
    through: u64,
    networks: BTreeMap<NetworkName, Memory>,
}

impl States {
    /// Restores states from a snapshot: the place in the log, and the states of each network.
    #[must_use]
    pub fn restore(through: u64, networks: BTreeMap<NetworkName, Memory>) -> Self {
        Self { through, networks }
    }

    /// The place in the log that the state is current as of.
    #[must_use]
    pub fn through(&self) -> u64 {
        self.through
    }

    /// The states of a network; `None` if no policy has written one.
    #[must_use]
    pub fn of(&self, network: &NetworkName) -> Option<&Memory> {
        self.networks.get(network)
    }

    /// The states of each network, by name.
    pub fn all(&self) -> impl Iterator<Item = (&NetworkName, &Memory)> {
        self.networks.iter()
    }

    /// Applies a fact. A fact applied before, judging by its place in the log, changes nothing.
    pub fn apply(&mut self, place: u64, fact: &StateFact) {
        if place <= self.through {
            return;
        }
        self.through = place;
        match fact {
            StateFact::Kept { network, state } | StateFact::Undone { network, state } => {
                let first = || Memory { now: state.clone(), before: VecDeque::new() };
                let memory = self.networks.entry(network.clone()).or_insert_with(first);
                match fact {
                    StateFact::Undone { .. } => memory.undo(state.clone()),
                    _ => memory.keep(state.clone()),
                }
            }
            StateFact::Forgotten { network, .. } => _ = self.networks.remove(network),
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_types::PolicyName;

    use super::*;

    fn network() -> NetworkName {
        NetworkName::new("net").unwrap()
    }

    fn state(policy: &str, version: u64, bytes: &str) -> PolicyState {
        let policy = PolicyStamp { name: PolicyName::new(policy).unwrap(), digest: policy.into() };
        PolicyState { policy, version, bytes: bytes.as_bytes().into(), at: Moment::default() }
    }

    fn kept(policy: &str, version: u64, bytes: &str) -> StateFact {
        StateFact::Kept { network: network(), state: state(policy, version, bytes) }
    }

    fn told(states: &States) -> Vec<String> {
        let memory = states.of(&network()).unwrap();
        let told = |state: &PolicyState| {
            format!("{} {} {}", state.policy.name, state.version, String::from_utf8_lossy(&state.bytes))
        };
        [&memory.now].into_iter().chain(&memory.before).map(told).collect()
    }

    #[test]
    fn each_policy_has_one_state_and_the_latest_is_first() {
        let mut states = States::default();
        for (place, fact) in (1..).zip([
            kept("a", 1, "x"),
            kept("a", 2, "y"),
            kept("b", 3, "migrated"),
            kept("b", 4, "z"),
            kept("a", 5, "back"),
        ]) {
            states.apply(place, &fact);
        }
        assert_eq!(told(&states), ["a 5 back", "b 4 z"]);
        states.apply(5, &kept("c", 6, "a fact applied before"));
        assert_eq!(told(&states), ["a 5 back", "b 4 z"]);
        let of = |digest: &str| {
            let stamp = state(digest, 0, "").policy;
            states.of(&network()).unwrap().of(&stamp).map(|state| state.version)
        };
        assert_eq!((of("a"), of("b"), of("c")), (Some(5), Some(4), None));
    }

    #[test]
    fn what_is_restored_is_what_was() {
        let mut states = States::default();
        let facts = [kept("a", 1, "x"), kept("b", 2, "y")];
        (1..).zip(&facts).for_each(|(place, fact)| states.apply(place, fact));
        let all: BTreeMap<_, _> = states.all().map(|(name, memory)| (name.clone(), memory.clone())).collect();
        assert_eq!((states.through(), all.len()), (2, 1));
        assert_eq!(States::restore(2, all), states);
    }

    #[test]
    fn an_undone_change_leaves_no_trace_but_its_version() {
        let mut states = States::default();
        states.apply(1, &kept("a", 1, "x"));
        states.apply(2, &kept("b", 2, "migrated"));
        let undone = StateFact::Undone { network: network(), state: state("a", 3, "x") };
        states.apply(3, &undone);
        assert_eq!(told(&states), ["a 3 x"]);
    }

    #[test]
    fn memory_is_bounded_and_goes_with_the_network() {
        let mut states = States::default();
        for place in 1..40 {
            states.apply(place, &kept(&format!("p{place}"), place, ""));
        }
        assert_eq!(told(&states).len(), 1 + MOST_BEFORE);
        states.apply(40, &StateFact::Forgotten { network: network(), at: Moment::default() });
        assert_eq!(states.of(&network()), None);
    }
}
