//! The chapter `choices` as it is stored.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use tenure_ledger::choices::{Served, Shadow};
use tenure_ledger::{Choice, ChoiceFact, Choices, Chooser, Step, StepKind};
use tenure_types::{Moment, NetworkName, PolicyStamp};

use super::allocation::StoredStamp;
use super::form::{As, Each, Maybe, form};
use super::range::StoredMoment;
use super::stored::Stored;

#[derive(Serialize, Deserialize)]
#[serde(remote = "ChoiceFact", rename_all = "kebab-case")]
pub(crate) enum StoredFact {
    Chosen {
        network: NetworkName,
        #[serde(with = "StoredChoice")]
        choice: Choice,
    },
    Noted {
        network: NetworkName,
        #[serde(with = "StoredStep")]
        step: Step,
    },
    Undone {
        network: NetworkName,
        #[serde(with = "StoredChoice")]
        choice: Choice,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
    Forgotten {
        network: NetworkName,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
}

form!(StoredFact of ChoiceFact);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Choice")]
struct StoredChoice {
    #[serde(with = "As::<StoredStamp<'_>>")]
    policy: PolicyStamp,
    #[serde(with = "StoredChooser")]
    by: Chooser,
    #[serde(with = "As::<StoredMoment>")]
    at: Moment,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    why: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    watched: bool,
}

form!(StoredChoice of Choice);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Chooser", rename_all = "kebab-case")]
enum StoredChooser {
    Configuration,
    Operator,
    RollBack,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Step")]
struct StoredStep {
    #[serde(with = "As::<StoredStepKind>")]
    kind: StepKind,
    #[serde(with = "As::<StoredStamp<'_>>")]
    policy: PolicyStamp,
    #[serde(with = "As::<StoredMoment>")]
    at: Moment,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    why: String,
}

form!(StoredStep of Step);

#[derive(Serialize, Deserialize)]
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

impl From<&StepKind> for StoredStepKind {
    fn from(kind: &StepKind) -> Self {
        match kind {
            StepKind::Chosen(Chooser::Configuration) => Self::ChosenByConfiguration,
            StepKind::Chosen(Chooser::Operator) => Self::ChosenByOperator,
            StepKind::Chosen(Chooser::RollBack) => Self::RolledBack,
            StepKind::Undone => Self::Undone,
            StepKind::Refused => Self::Refused,
            StepKind::ShadowBegun => Self::ShadowBegun,
            StepKind::ShadowEnded => Self::ShadowEnded,
            StepKind::Kept => Self::Kept,
            StepKind::StateReplaced => Self::StateReplaced,
        }
    }
}

impl From<StoredStepKind> for StepKind {
    fn from(stored: StoredStepKind) -> Self {
        match stored {
            StoredStepKind::ChosenByConfiguration => Self::Chosen(Chooser::Configuration),
            StoredStepKind::ChosenByOperator => Self::Chosen(Chooser::Operator),
            StoredStepKind::RolledBack => Self::Chosen(Chooser::RollBack),
            StoredStepKind::Undone => Self::Undone,
            StoredStepKind::Refused => Self::Refused,
            StoredStepKind::ShadowBegun => Self::ShadowBegun,
            StoredStepKind::ShadowEnded => Self::ShadowEnded,
            StoredStepKind::Kept => Self::Kept,
            StoredStepKind::StateReplaced => Self::StateReplaced,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Shadow")]
struct StoredShadow {
    #[serde(with = "As::<StoredStamp<'_>>")]
    policy: PolicyStamp,
    #[serde(with = "As::<StoredMoment>")]
    since: Moment,
}

form!(StoredShadow of Shadow);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoredItem {
    /// The policies of a network; those before the present one and the steps of its history are listed latest first.
    Served {
        network: NetworkName,
        #[serde(with = "StoredChoice")]
        now: Choice,
        #[serde(with = "Each::<StoredChoice>", default, skip_serializing_if = "VecDeque::is_empty")]
        before: VecDeque<Choice>,
        #[serde(with = "Maybe::<StoredShadow>", default, skip_serializing_if = "Option::is_none")]
        shadow: Option<Shadow>,
        #[serde(with = "Each::<StoredStep>", default, skip_serializing_if = "VecDeque::is_empty")]
        history: VecDeque<Step>,
    },
}

impl Stored for Choices {
    const NAME: &'static str = "choices";
    const ALWAYS: bool = true;

    type Facts = StoredFact;
    type Item<'a> = StoredItem;
    type Parts = BTreeMap<NetworkName, Served>;

    fn items(&self) -> impl Iterator<Item = StoredItem> {
        self.all().map(|(network, served)| {
            let Served { now, before, shadow, history } = served.clone();
            StoredItem::Served { network: network.clone(), now, before, shadow, history }
        })
    }

    fn add(networks: &mut Self::Parts, item: StoredItem) -> Result<(), String> {
        let StoredItem::Served { network, now, before, shadow, history } = item;
        networks.insert(network, Served { now, before, shadow, history });
        Ok(())
    }

    fn restore(through: u64, networks: &mut Self::Parts) -> Self {
        Self::restore(through, std::mem::take(networks))
    }
}
