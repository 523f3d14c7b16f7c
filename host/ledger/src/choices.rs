//! The chapter `choices`: which policy serves which network, since when, who chose it, the policies before it, which
//! one runs in its shadow, and what happened to policies there.

mod fact;
mod step;

use std::collections::{BTreeMap, VecDeque};

use tenure_types::{Moment, NetworkName, PolicyStamp};

pub use self::fact::ChoiceFact;
pub use self::step::{Step, StepKind};

/// How many earlier choices of a network are remembered.
const MOST_BEFORE: usize = 16;

/// How many steps of a network's history are remembered.
const MOST_STEPS: usize = 64;

/// The chooser of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chooser {
    /// The network's configuration: naming another policy replaces the choice.
    Configuration,
    /// An operator: the choice overrides the configuration.
    Operator,
    /// The daemon, since the policy after this one did worse; the choice overrides the configuration.
    RollBack,
}

impl Chooser {
    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Operator => "operator",
            Self::RollBack => "roll-back",
        }
    }

    /// Whether the choice stays when the configuration names another policy.
    #[must_use]
    pub fn overrides(self) -> bool {
        match self {
            Self::Configuration => false,
            Self::Operator | Self::RollBack => true,
        }
    }
}

/// A policy that serves, or served, a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The policy, identified by its digest.
    pub policy: PolicyStamp,
    /// Chooser of the policy.
    pub by: Chooser,
    /// Time at which the policy began to serve.
    pub at: Moment,
    /// Why, in words for people; may be empty.
    pub why: String,
    /// Whether it is still compared with the policy before it.
    pub watched: bool,
}

/// A policy that runs in the shadow of the serving one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadow {
    /// The policy.
    pub policy: PolicyStamp,
    /// Beginning of the shadow run.
    pub since: Moment,
}

/// The policies of one network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The present policy.
    pub now: Choice,
    /// The earlier policies, the latest first.
    pub before: VecDeque<Choice>,
    /// The policy in the shadow of the present one.
    pub shadow: Option<Shadow>,
    /// Steps, the latest first.
    pub history: VecDeque<Step>,
}

impl Served {
    /// A network's first choice.
    fn first(choice: Choice) -> Self {
        Self { now: choice, before: VecDeque::new(), shadow: None, history: VecDeque::new() }
    }

    /// The policies that it refers to: the present one, those before it, and the one in its shadow.
    pub fn policies(&self) -> impl Iterator<Item = &PolicyStamp> {
        let choices = [&self.now].into_iter().chain(&self.before).map(|choice| &choice.policy);
        choices.chain(self.shadow.iter().map(|shadow| &shadow.policy))
    }

    fn choose(&mut self, choice: Choice) {
        if self.shadow.as_ref().is_some_and(|shadow| shadow.policy == choice.policy) {
            self.shadow = None;
        }
        let before = std::mem::replace(&mut self.now, choice);
        if before.policy != self.now.policy {
            self.before.push_front(Choice { watched: false, ..before });
            self.before.truncate(MOST_BEFORE);
        }
    }

    fn undo(&mut self, choice: Choice, at: Moment) {
        let undone = std::mem::replace(&mut self.now, choice);
        if self.before.front().is_some_and(|before| before.policy == self.now.policy) {
            self.before.pop_front();
        }
        let why = "the exchange could not be made durable".to_owned();
        self.note(Step { kind: StepKind::Undone, policy: undone.policy, at, why });
    }

    fn note(&mut self, step: Step) {
        match step.kind {
            StepKind::ShadowBegun => {
                self.shadow = Some(Shadow { policy: step.policy.clone(), since: step.at });
            }
            StepKind::ShadowEnded => self.shadow = None,
            StepKind::Kept => self.now.watched = false,
            StepKind::Chosen(_) | StepKind::Undone | StepKind::Refused | StepKind::StateReplaced => {}
        }
        self.history.push_front(step);
        self.history.truncate(MOST_STEPS);
    }
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
            ChoiceFact::Chosen { network, choice } => {
                let step = Step {
                    kind: StepKind::Chosen(choice.by),
                    policy: choice.policy.clone(),
                    at: choice.at,
                    why: choice.why.clone(),
                };
                let served = match self.networks.get_mut(network) {
                    None => self.networks.entry(network.clone()).or_insert(Served::first(choice.clone())),
                    Some(served) => {
                        served.choose(choice.clone());
                        served
                    }
                };
                served.note(step);
            }
            ChoiceFact::Noted { network, step } => {
                if let Some(served) = self.networks.get_mut(network) {
                    served.note(step.clone());
                }
            }
            ChoiceFact::Undone { network, choice, at } => {
                if let Some(served) = self.networks.get_mut(network) {
                    served.undo(choice.clone(), *at);
                }
            }
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
        let (by, at) = (Chooser::Operator, Moment::default());
        let choice = Choice { policy, by, at, why: String::new(), watched: true };
        ChoiceFact::Chosen { network: network(), choice }
    }

    fn noted(kind: StepKind, policy: &str) -> ChoiceFact {
        let policy = PolicyStamp { name: PolicyName::new(policy).unwrap(), digest: "00".into() };
        let step = Step { kind, policy, at: Moment::default(), why: String::new() };
        ChoiceFact::Noted { network: network(), step }
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

    #[test]
    fn a_shadow_ends_when_it_is_chosen_or_ended_and_a_watch_when_it_is_kept() {
        let mut choices = Choices::default();
        let mut place = 0;
        let mut apply = |choices: &mut Choices, fact: ChoiceFact| {
            place += 1;
            choices.apply(place, &fact);
            choices.of(&network()).map(|served| (served.shadow.is_some(), served.now.watched))
        };
        assert_eq!(apply(&mut choices, noted(StepKind::ShadowBegun, "b")), None, "no such network");
        assert_eq!(apply(&mut choices, chosen("a")), Some((false, true)));
        assert_eq!(apply(&mut choices, noted(StepKind::Kept, "a")), Some((false, false)));
        assert_eq!(apply(&mut choices, noted(StepKind::ShadowBegun, "b")), Some((true, false)));
        assert_eq!(apply(&mut choices, chosen("c")), Some((true, true)), "another one does not end it");
        assert_eq!(apply(&mut choices, chosen("b")), Some((false, true)));
        assert_eq!(apply(&mut choices, noted(StepKind::ShadowBegun, "c")), Some((true, true)));
        assert_eq!(apply(&mut choices, noted(StepKind::ShadowEnded, "c")), Some((false, true)));
        let served = choices.of(&network()).unwrap();
        let history: Vec<_> = served.history.iter().rev().map(|step| step.kind.name()).collect();
        let all = ["chosen", "kept", "shadow-begun", "chosen", "chosen", "shadow-begun", "shadow-ended"];
        assert_eq!(history, all);
        assert!(served.before.iter().all(|choice| !choice.watched), "what is over is not watched");
    }

    #[test]
    fn an_undone_choice_is_a_step_and_serves_no_more() {
        let mut choices = Choices::default();
        for (place, policy) in (1..).zip(["a", "b", "c"]) {
            choices.apply(place, &chosen(policy));
        }
        let undone = |policy: &str| {
            let ChoiceFact::Chosen { network, choice } = chosen(policy) else { unreachable!("it is chosen") };
            ChoiceFact::Undone { network, choice, at: Moment::default() }
        };
        choices.apply(4, &undone("b"));
        assert_eq!(names(&choices), ["b", "a"]);
        let step = &choices.of(&network()).unwrap().history[0];
        assert_eq!((step.kind, step.policy.name.as_str()), (StepKind::Undone, "c"));
        // The same version chosen anew has put nothing before it.
        choices.apply(5, &undone("b"));
        assert_eq!(names(&choices), ["b", "a"]);
    }

    #[test]
    fn what_is_restored_is_what_was() {
        let mut choices = Choices::default();
        let facts = [chosen("a"), chosen("b"), noted(StepKind::ShadowBegun, "c")];
        (1..).zip(&facts).for_each(|(place, fact)| choices.apply(place, fact));
        let all: BTreeMap<_, _> =
            choices.all().map(|(name, served)| (name.clone(), served.clone())).collect();
        let named: Vec<_> =
            all.values().flat_map(Served::policies).map(|policy| policy.name.as_str()).collect();
        assert_eq!((choices.through(), named), (3, vec!["b", "a", "c"]));
        assert_eq!(Choices::restore(3, all), choices);
    }

    #[test]
    fn only_what_the_configuration_chose_gives_way_to_it() {
        let known = [Chooser::Configuration, Chooser::Operator, Chooser::RollBack];
        let told = known.map(|chooser| (chooser.name(), chooser.overrides()));
        assert_eq!(told, [("configuration", false), ("operator", true), ("roll-back", true)]);
    }

    #[test]
    fn history_is_bounded() {
        let mut choices = Choices::default();
        choices.apply(1, &chosen("a"));
        for place in 2..200 {
            choices.apply(place, &noted(StepKind::Refused, "b"));
        }
        let served = choices.of(&network()).unwrap();
        assert_eq!(
            (served.history.len(), &served.now.policy.name),
            (MOST_STEPS, &PolicyName::new("a").unwrap())
        );
    }
}
