//! The chapter `choices` as it is stored.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tenure_ledger::choices::Served;
use tenure_ledger::{Choice, ChoiceFact, Choices, Chooser};
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
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredChooser {
    Configuration,
    Operator,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredItem<'a> {
    /// The place in the log up to which the following items are true.
    Through(u64),
    /// The policy that serves a network, and the ones before it, latest first.
    Served {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        now: StoredChoice<'a>,
        #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
        before: Vec<StoredChoice<'a>>,
    },
}

impl<'a> From<&'a Choice> for StoredChoice<'a> {
    fn from(choice: &'a Choice) -> Self {
        Self {
            policy: (&choice.policy).into(),
            by: match choice.by {
                Chooser::Configuration => StoredChooser::Configuration,
                Chooser::Operator => StoredChooser::Operator,
            },
            at: choice.at.into(),
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
            },
            at: stored.at.into(),
        })
    }
}

pub(super) fn encode(fact: &ChoiceFact) -> Vec<u8> {
    json(&match fact {
        ChoiceFact::Chosen { network, choice } => {
            StoredFact::Chosen { network: network.as_str().into(), choice: choice.into() }
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
        line(CHAPTER, json(&StoredItem::Served { network, now, before }))
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
            StoredItem::Served { network, now, before } => {
                let network = NetworkName::new(network).map_err(|error| malformed(error.to_string()))?;
                let now = Choice::try_from(now).map_err(malformed)?;
                let before = before.into_iter().map(Choice::try_from).collect::<Result<_, _>>();
                self.served.insert(network, Served { now, before: before.map_err(malformed)? });
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
