//! The chapter `choices` as it is stored.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use tenure_ledger::choices::{Served, Shadow};
use tenure_ledger::{Choice, ChoiceFact, Choices, Chooser, Step, StepKind};
use tenure_types::{NetworkName, PolicyStamp};

use super::allocation::StoredStamp;
use super::range::StoredMoment;
use super::{VERSION, json, line};
use crate::chapters::{Chapter, Refused};
use crate::line::Line;

pub(super) const CHAPTER: &str = "choices";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredFact<'a> {
    Chosen {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        choice: StoredChoice<'a>,
    },
    Noted {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        step: StoredStep<'a>,
    },
    Undone {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        choice: StoredChoice<'a>,
        at: StoredMoment,
    },
    Forgotten {
        #[serde(borrow)]
        network: Cow<'a, str>,
        at: StoredMoment,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredChoice<'a> {
    #[serde(borrow)]
    policy: StoredStamp<'a>,
    by: StoredChooser,
    at: StoredMoment,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    why: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    watched: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredStep<'a> {
    kind: StoredStepKind,
    #[serde(borrow)]
    policy: StoredStamp<'a>,
    at: StoredMoment,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    why: Cow<'a, str>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredStepKind {
    ChosenByConfiguration,
    ChosenByOperator,
    RolledBack,
    Undone,
    Refused,
    ShadowBegun,
    ShadowEnded,
    Kept,
    StateReplaced,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredShadow<'a> {
    #[serde(borrow)]
    policy: StoredStamp<'a>,
    since: StoredMoment,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredChooser {
    Configuration,
    Operator,
    RollBack,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredItem<'a> {
    /// The place in the log up to which the following items are true.
    Through(u64),
    /// The policies of a network; those before the present one and the steps of its history are listed latest first.
    Served {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        now: StoredChoice<'a>,
        #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
        before: Vec<StoredChoice<'a>>,
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        shadow: Option<Box<StoredShadow<'a>>>,
        #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
        history: Vec<StoredStep<'a>>,
    },
}

impl<'a> From<&'a Choice> for StoredChoice<'a> {
    fn from(choice: &'a Choice) -> Self {
        Self {
            policy: (&choice.policy).into(),
            by: match choice.by {
                Chooser::Configuration => StoredChooser::Configuration,
                Chooser::Operator => StoredChooser::Operator,
                Chooser::RollBack => StoredChooser::RollBack,
            },
            at: choice.at.into(),
            why: choice.why.as_str().into(),
            watched: choice.watched,
        }
    }
}

impl TryFrom<StoredChoice<'_>> for Choice {
    type Error = String;

    fn try_from(stored: StoredChoice<'_>) -> Result<Self, String> {
        Ok(Self {
            policy: PolicyStamp::try_from(stored.policy)?,
            by: match stored.by {
                StoredChooser::Configuration => Chooser::Configuration,
                StoredChooser::Operator => Chooser::Operator,
                StoredChooser::RollBack => Chooser::RollBack,
            },
            at: stored.at.into(),
            why: stored.why.into_owned(),
            watched: stored.watched,
        })
    }
}

impl<'a> From<&'a Step> for StoredStep<'a> {
    fn from(Step { kind, policy, at, why }: &'a Step) -> Self {
        let kind = match kind {
            StepKind::Chosen(Chooser::Configuration) => StoredStepKind::ChosenByConfiguration,
            StepKind::Chosen(Chooser::Operator) => StoredStepKind::ChosenByOperator,
            StepKind::Chosen(Chooser::RollBack) => StoredStepKind::RolledBack,
            StepKind::Undone => StoredStepKind::Undone,
            StepKind::Refused => StoredStepKind::Refused,
            StepKind::ShadowBegun => StoredStepKind::ShadowBegun,
            StepKind::ShadowEnded => StoredStepKind::ShadowEnded,
            StepKind::Kept => StoredStepKind::Kept,
            StepKind::StateReplaced => StoredStepKind::StateReplaced,
        };
        Self { kind, policy: policy.into(), at: (*at).into(), why: why.as_str().into() }
    }
}

impl TryFrom<StoredStep<'_>> for Step {
    type Error = String;

    fn try_from(stored: StoredStep<'_>) -> Result<Self, String> {
        let kind = match stored.kind {
            StoredStepKind::ChosenByConfiguration => StepKind::Chosen(Chooser::Configuration),
            StoredStepKind::ChosenByOperator => StepKind::Chosen(Chooser::Operator),
            StoredStepKind::RolledBack => StepKind::Chosen(Chooser::RollBack),
            StoredStepKind::Undone => StepKind::Undone,
            StoredStepKind::Refused => StepKind::Refused,
            StoredStepKind::ShadowBegun => StepKind::ShadowBegun,
            StoredStepKind::ShadowEnded => StepKind::ShadowEnded,
            StoredStepKind::Kept => StepKind::Kept,
            StoredStepKind::StateReplaced => StepKind::StateReplaced,
        };
        let policy = PolicyStamp::try_from(stored.policy)?;
        Ok(Self { kind, policy, at: stored.at.into(), why: stored.why.into_owned() })
    }
}

pub(super) fn encode(fact: &ChoiceFact) -> Vec<u8> {
    json(&match fact {
        ChoiceFact::Chosen { network, choice } => {
            StoredFact::Chosen { network: network.as_str().into(), choice: choice.into() }
        }
        ChoiceFact::Noted { network, step } => {
            StoredFact::Noted { network: network.as_str().into(), step: step.into() }
        }
        ChoiceFact::Undone { network, choice, at } => {
            StoredFact::Undone { network: network.as_str().into(), choice: choice.into(), at: (*at).into() }
        }
        ChoiceFact::Forgotten { network, at } => {
            StoredFact::Forgotten { network: network.as_str().into(), at: (*at).into() }
        }
    })
}

pub(super) fn decode(text: &str) -> Result<ChoiceFact, String> {
    let name = |text: &str| NetworkName::new(text).map_err(|error| error.to_string());
    Ok(match serde_json::from_str(text).map_err(|error| error.to_string())? {
        StoredFact::Chosen { network, choice } => {
            ChoiceFact::Chosen { network: name(&network)?, choice: choice.try_into()? }
        }
        StoredFact::Noted { network, step } => {
            ChoiceFact::Noted { network: name(&network)?, step: step.try_into()? }
        }
        StoredFact::Undone { network, choice, at } => {
            ChoiceFact::Undone { network: name(&network)?, choice: choice.try_into()?, at: at.into() }
        }
        StoredFact::Forgotten { network, at } => {
            ChoiceFact::Forgotten { network: name(&network)?, at: at.into() }
        }
    })
}

/// The items of a snapshot.
pub(super) fn items(choices: &Choices) -> Vec<Line> {
    let through = line(CHAPTER, json(&StoredItem::Through(choices.through())));
    let served = choices.all().map(|(network, served)| {
        let (network, now) = (network.as_str().into(), (&served.now).into());
        let before = served.before.iter().map(StoredChoice::from).collect();
        let shadow = served.shadow.as_ref();
        let shadow = shadow
            .map(|Shadow { policy, since }| StoredShadow { policy: policy.into(), since: (*since).into() })
            .map(Box::new);
        let history = served.history.iter().map(StoredStep::from).collect();
        line(CHAPTER, json(&StoredItem::Served { network, now, before, shadow, history }))
    });
    [through].into_iter().chain(served).collect()
}

/// The choices during recovery.
#[derive(Debug, Default)]
pub(crate) struct Choosing {
    choices: Choices,
    through: u64,
    served: BTreeMap<NetworkName, Served>,
}

impl Choosing {
    pub(crate) fn into_choices(self) -> Choices {
        self.choices
    }
}

impl Chapter for Choosing {
    fn name(&self) -> &'static str {
        CHAPTER
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        self.choices.apply(place, &decode(json).map_err(Refused::Malformed)?);
        Ok(())
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        let malformed = Refused::Malformed;
        match serde_json::from_str(json).map_err(|error| malformed(error.to_string()))? {
            StoredItem::Through(through) => self.through = through,
            StoredItem::Served { network, now, before, shadow, history } => {
                let network = NetworkName::new(network).map_err(|error| malformed(error.to_string()))?;
                let shadow = shadow.map(|shadow| {
                    let StoredShadow { policy, since } = *shadow;
                    Ok(Shadow { policy: PolicyStamp::try_from(policy)?, since: since.into() })
                });
                let served = Served {
                    now: now.try_into().map_err(malformed)?,
                    before: each(before).map_err(malformed)?,
                    shadow: shadow.transpose().map_err(malformed)?,
                    history: each(history).map_err(malformed)?,
                };
                self.served.insert(network, served);
            }
        }
        Ok(())
    }

    fn restored(&mut self) -> Result<(), Refused> {
        self.choices = Choices::restore(self.through, std::mem::take(&mut self.served));
        Ok(())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

fn each<S, T: TryFrom<S, Error = String>>(stored: Vec<S>) -> Result<VecDeque<T>, String> {
    stored.into_iter().map(T::try_from).collect()
}
