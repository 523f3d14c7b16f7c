//! The chapter `components`: which policies operators have loaded into this node, besides those of its configuration.

use std::fmt;

use tenure_types::{Moment, NetworkName, PolicyName, PolicyStamp};

/// A policy that was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// The policy, identified by its digest.
    pub policy: PolicyStamp,
    /// Source of the bytes, for people: a file's path or an image's reference.
    pub source: String,
    /// The key that signed it; empty if no signature was checked.
    pub signer: String,
    /// Time at which the component was loaded.
    pub at: Moment,
}

/// A fact of this chapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComponentFact {
    /// A policy was loaded. Loading one again moves it to the end, so that its name stands for it.
    Loaded(Component),
    /// A policy was unloaded.
    Unloaded {
        /// The policy.
        policy: PolicyStamp,
        /// Time of the fact.
        at: Moment,
    },
}

impl ComponentFact {
    /// The network that the fact is about: none, since policies are loaded into the node.
    #[must_use]
    pub fn network(&self) -> Option<&NetworkName> {
        None
    }

    /// The time of the fact.
    #[must_use]
    pub fn at(&self) -> Moment {
        let (Self::Loaded(Component { at, .. }) | Self::Unloaded { at, .. }) = self;
        *at
    }
}

impl fmt::Display for ComponentFact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loaded(Component { policy, source, .. }) => {
                write!(formatter, "{:<10} {policy} from {source}", "loaded")
            }
            Self::Unloaded { policy, .. } => write!(formatter, "{:<10} {policy}", "unloaded"),
        }
    }
}

/// The loaded policies of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Components {
    through: u64,
    loaded: Vec<Component>,
}

impl Components {
    /// Restores the components of a snapshot: the place in the log, and the policies in the order in which they were loaded.
    #[must_use]
    pub fn restore(through: u64, loaded: Vec<Component>) -> Self {
        Self { through, loaded }
    }

    /// The place in the log that the state is current as of.
    #[must_use]
    pub fn through(&self) -> u64 {
        self.through
    }

    /// All of them, in the order in which they were loaded.
    #[must_use]
    pub fn all(&self) -> &[Component] {
        &self.loaded
    }

    /// The one that a name stands for: the last that was loaded under it.
    #[must_use]
    pub fn named(&self, name: &PolicyName) -> Option<&Component> {
        self.loaded.iter().rfind(|component| component.policy.name == *name)
    }

    /// The one with this name and digest.
    #[must_use]
    pub fn get(&self, policy: &PolicyStamp) -> Option<&Component> {
        self.loaded.iter().find(|component| component.policy == *policy)
    }

    /// Applies a fact. A fact applied before, judging by its place in the log, changes nothing.
    pub fn apply(&mut self, place: u64, fact: &ComponentFact) {
        if place <= self.through {
            return;
        }
        self.through = place;
        let (ComponentFact::Loaded(Component { policy, .. }) | ComponentFact::Unloaded { policy, .. }) = fact;
        self.loaded.retain(|component| component.policy != *policy);
        if let ComponentFact::Loaded(component) = fact {
            self.loaded.push(component.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(name: &str, digest: &str) -> PolicyStamp {
        PolicyStamp { name: PolicyName::new(name).unwrap(), digest: digest.into() }
    }

    fn loaded(policy: PolicyStamp) -> ComponentFact {
        let (source, signer, at) = (String::new(), String::new(), Moment::default());
        ComponentFact::Loaded(Component { policy, source, signer, at })
    }

    #[test]
    fn a_name_stands_for_what_was_loaded_last_under_it() {
        let mut components = Components::default();
        let name = PolicyName::new("zones").unwrap();
        let named =
            |components: &Components| components.named(&name).map(|found| found.policy.digest.to_string());
        for (place, digest, now) in [(1, "aa", "aa"), (2, "bb", "bb"), (3, "aa", "aa"), (3, "bb", "aa")] {
            components.apply(place, &loaded(stamp("zones", digest)));
            assert_eq!(named(&components).as_deref(), Some(now));
        }
        components.apply(4, &loaded(stamp("other", "aa")));
        components.apply(5, &ComponentFact::Unloaded { policy: stamp("zones", "aa"), at: Moment::default() });
        assert_eq!(named(&components).as_deref(), Some("bb"));
        assert_eq!(components.all().len(), 2, "the same bytes under another name stay");
        let got = |name, digest| components.get(&stamp(name, digest)).map(|found| found.policy.clone());
        assert_eq!(got("other", "aa"), Some(stamp("other", "aa")));
        assert_eq!(got("zones", "aa"), None, "it was unloaded");
        assert_eq!(components.through(), 5);
        assert_eq!(Components::restore(5, components.all().to_vec()), components);
    }
}
