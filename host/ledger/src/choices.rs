//! The chapter `choices`: which policy serves which network, since when, who chose it, and the policies before it.

use std::collections::{BTreeMap, VecDeque};

use tenure_types::{Moment, NetworkName, PolicyStamp};

/// How many earlier choices of a network are remembered.
const MOST_BEFORE: usize = 16;

/// Who chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chooser {
    /// The network's configuration: naming another policy replaces the choice.
    Configuration,
    /// An operator: the choice overrides the configuration.
    Operator,
}

impl Chooser {
    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Operator => "operator",
        }
    }
}

/// A policy that serves, or served, a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The policy, identified by its digest.
    pub policy: PolicyStamp,
    /// Who chose it.
    pub by: Chooser,
    /// When it began to serve.
    pub at: Moment,
}

/// A fact of this chapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChoiceFact {
    /// A policy begins to serve a network.
    Chosen {
        /// The network.
        network: NetworkName,
        /// The choice.
        choice: Choice,
    },
    /// The network was removed, and its choices are forgotten.
    Forgotten {
        /// The network.
        network: NetworkName,
        /// When.
        at: Moment,
    },
}

impl ChoiceFact {
    /// The network that the fact is about.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        match self {
            Self::Chosen { network, .. } | Self::Forgotten { network, .. } => network,
        }
    }
}

/// The policies of one network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The present policy.
    pub now: Choice,
    /// The earlier policies, the latest first.
    pub before: VecDeque<Choice>,
}

/// The policies of each network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choices {
    through: u64,
    networks: BTreeMap<NetworkName, Served>,
}

impl Choices {
    /// Restores choices from a snapshot: the place in the log, and the policies of each network.
    #[must_use]
    pub fn restore(through: u64, networks: BTreeMap<NetworkName, Served>) -> Self {
        Self { through, networks }
    }

    /// The place in the log that the state is current as of.
    #[must_use]
    pub fn through(&self) -> u64 {
        self.through
    }

    /// The policies of a network.
    #[must_use]
    pub fn of(&self, network: &NetworkName) -> Option<&Served> {
        self.networks.get(network)
    }

    /// The policies of each network, by name.
    pub fn all(&self) -> impl Iterator<Item = (&NetworkName, &Served)> {
        self.networks.iter()
    }

    /// Applies a fact. A fact applied before, judging by its place in the log, changes nothing.
    pub fn apply(&mut self, place: u64, fact: &ChoiceFact) {
        if place <= self.through {
            return;
        }
        self.through = place;
        match fact {
            ChoiceFact::Chosen { network, choice } => match self.networks.get_mut(network) {
                None => {
                    let served = Served { now: choice.clone(), before: VecDeque::new() };
                    self.networks.insert(network.clone(), served);
                }
                Some(served) => {
                    let before = std::mem::replace(&mut served.now, choice.clone());
                    if before.policy != served.now.policy {
                        served.before.push_front(before);
                        served.before.truncate(MOST_BEFORE);
                    }
                }
            },
            ChoiceFact::Forgotten { network, .. } => _ = self.networks.remove(network),
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

    fn chosen(policy: &str) -> ChoiceFact {
        let policy = PolicyStamp { name: PolicyName::new(policy).unwrap(), digest: "00".into() };
        let choice = Choice { policy, by: Chooser::Operator, at: Moment::default() };
        ChoiceFact::Chosen { network: network(), choice }
    }

    fn names(choices: &Choices) -> Vec<&str> {
        let served = choices.of(&network()).unwrap();
        [&served.now].into_iter().chain(&served.before).map(|choice| choice.policy.name.as_str()).collect()
    }

    #[test]
    fn what_served_before_is_remembered_the_latest_first() {
        let mut choices = Choices::default();
        for (place, policy) in (1..).zip(["a", "b", "b", "c"]) {
            choices.apply(place, &chosen(policy));
        }
        assert_eq!(names(&choices), ["c", "b", "a"]);
        choices.apply(4, &chosen("x"));
        assert_eq!(names(&choices), ["c", "b", "a"], "a fact applied before");
    }

    #[test]
    fn memory_is_bounded_and_goes_with_the_network() {
        let mut choices = Choices::default();
        for place in 1..40 {
            choices.apply(place, &chosen(&format!("p{place}")));
        }
        assert_eq!(names(&choices).len(), 1 + MOST_BEFORE);
        choices.apply(40, &ChoiceFact::Forgotten { network: network(), at: Moment::default() });
        assert_eq!(choices.of(&network()), None);
    }
}
