//! The chapter `states` as it is stored. The bytes are in base64, since they may be anything.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tenure_ledger::states::Memory;
use tenure_ledger::{PolicyState, StateFact, States};
use tenure_types::{NetworkName, PolicyStamp};

use super::allocation::StoredStamp;
use super::range::StoredMoment;
use super::{VERSION, json, line};
use crate::chapters::{Chapter, Refused};
use crate::line::Line;

pub(super) const CHAPTER: &str = "states";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredFact<'a> {
    Kept {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        state: StoredState<'a>,
    },
    Undone {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        state: StoredState<'a>,
    },
    Forgotten {
        #[serde(borrow)]
        network: Cow<'a, str>,
        at: StoredMoment,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredState<'a> {
    #[serde(borrow)]
    policy: StoredStamp<'a>,
    version: u64,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    base64: Cow<'a, str>,
    at: StoredMoment,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredItem<'a> {
    /// The place in the log up to which the following items are true.
    Through(u64),
    /// The states of a network; those of earlier policies are listed latest first.
    States {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        now: StoredState<'a>,
        #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
        before: Vec<StoredState<'a>>,
    },
}

impl<'a> From<&'a PolicyState> for StoredState<'a> {
    fn from(PolicyState { policy, version, bytes, at }: &'a PolicyState) -> Self {
        let base64 = STANDARD.encode(bytes).into();
        Self { policy: policy.into(), version: *version, base64, at: (*at).into() }
    }
}

impl TryFrom<StoredState<'_>> for PolicyState {
    type Error = String;

    fn try_from(stored: StoredState<'_>) -> Result<Self, String> {
        let bytes = STANDARD.decode(&*stored.base64).map_err(|error| format!("base64: {error}"))?;
        let policy = PolicyStamp::try_from(stored.policy)?;
        Ok(Self { policy, version: stored.version, bytes: bytes.into(), at: stored.at.into() })
    }
}

pub(super) fn encode(fact: &StateFact) -> Vec<u8> {
    json(&match fact {
        StateFact::Kept { network, state } => {
            StoredFact::Kept { network: network.as_str().into(), state: state.into() }
        }
        StateFact::Undone { network, state } => {
            StoredFact::Undone { network: network.as_str().into(), state: state.into() }
        }
        StateFact::Forgotten { network, at } => {
            StoredFact::Forgotten { network: network.as_str().into(), at: (*at).into() }
        }
    })
}

pub(super) fn decode(text: &str) -> Result<StateFact, String> {
    let name = |text: &str| NetworkName::new(text).map_err(|error| error.to_string());
    Ok(match serde_json::from_str(text).map_err(|error| error.to_string())? {
        StoredFact::Kept { network, state } => {
            StateFact::Kept { network: name(&network)?, state: state.try_into()? }
        }
        StoredFact::Undone { network, state } => {
            StateFact::Undone { network: name(&network)?, state: state.try_into()? }
        }
        StoredFact::Forgotten { network, at } => {
            StateFact::Forgotten { network: name(&network)?, at: at.into() }
        }
    })
}

/// The items of a snapshot; none if no policy ever kept a state.
pub(super) fn items(states: &States) -> Vec<Line> {
    if *states == States::default() {
        return Vec::new();
    }
    let through = line(CHAPTER, json(&StoredItem::Through(states.through())));
    let kept = states.all().map(|(network, Memory { now, before })| {
        let (network, now) = (network.as_str().into(), now.into());
        let before = before.iter().map(StoredState::from).collect();
        line(CHAPTER, json(&StoredItem::States { network, now, before }))
    });
    [through].into_iter().chain(kept).collect()
}

/// The states during recovery.
#[derive(Debug, Default)]
pub(crate) struct Remembering {
    states: States,
    through: u64,
    kept: BTreeMap<NetworkName, Memory>,
}

impl Remembering {
    pub(crate) fn into_states(self) -> States {
        self.states
    }
}

impl Chapter for Remembering {
    fn name(&self) -> &'static str {
        CHAPTER
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        self.states.apply(place, &decode(json).map_err(Refused::Malformed)?);
        Ok(())
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        let malformed = Refused::Malformed;
        match serde_json::from_str(json).map_err(|error| malformed(error.to_string()))? {
            StoredItem::Through(through) => self.through = through,
            StoredItem::States { network, now, before } => {
                let network = NetworkName::new(network).map_err(|error| malformed(error.to_string()))?;
                let before: Result<VecDeque<_>, _> = before.into_iter().map(PolicyState::try_from).collect();
                let memory =
                    Memory { now: now.try_into().map_err(malformed)?, before: before.map_err(malformed)? };
                self.kept.insert(network, memory);
            }
        }
        Ok(())
    }

    fn restored(&mut self) -> Result<(), Refused> {
        self.states = States::restore(self.through, std::mem::take(&mut self.kept));
        Ok(())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
