//! The chapter `components` as it is stored.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use tenure_ledger::{Component, ComponentFact, Components};

use super::allocation::StoredStamp;
use super::range::StoredMoment;
use super::{VERSION, json, line};
use crate::chapters::{Chapter, Refused};
use crate::line::Line;

pub(super) const CHAPTER: &str = "components";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredFact<'a> {
    #[serde(borrow)]
    Loaded(StoredComponent<'a>),
    Unloaded {
        #[serde(borrow)]
        policy: StoredStamp<'a>,
        at: StoredMoment,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredComponent<'a> {
    #[serde(borrow)]
    policy: StoredStamp<'a>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    source: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    signer: Cow<'a, str>,
    at: StoredMoment,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredItem<'a> {
    /// The place in the log up to which the following items are true.
    Through(u64),
    /// A policy that was loaded, in the order of loading.
    #[serde(borrow)]
    Loaded(StoredComponent<'a>),
}

impl<'a> From<&'a Component> for StoredComponent<'a> {
    fn from(Component { policy, source, signer, at }: &'a Component) -> Self {
        let (source, signer) = (source.as_str().into(), signer.as_str().into());
        Self { policy: policy.into(), source, signer, at: (*at).into() }
    }
}

impl TryFrom<StoredComponent<'_>> for Component {
    type Error = String;

    fn try_from(stored: StoredComponent<'_>) -> Result<Self, String> {
        let (source, signer) = (stored.source.into_owned(), stored.signer.into_owned());
        Ok(Self { policy: stored.policy.try_into()?, source, signer, at: stored.at.into() })
    }
}

pub(super) fn encode(fact: &ComponentFact) -> Vec<u8> {
    json(&match fact {
        ComponentFact::Loaded(component) => StoredFact::Loaded(component.into()),
        ComponentFact::Unloaded { policy, at } => {
            StoredFact::Unloaded { policy: policy.into(), at: (*at).into() }
        }
    })
}

pub(super) fn decode(text: &str) -> Result<ComponentFact, String> {
    Ok(match serde_json::from_str(text).map_err(|error| error.to_string())? {
        StoredFact::Loaded(component) => ComponentFact::Loaded(component.try_into()?),
        StoredFact::Unloaded { policy, at } => {
            ComponentFact::Unloaded { policy: policy.try_into()?, at: at.into() }
        }
    })
}

/// The items of a snapshot; none if nothing was ever loaded.
pub(super) fn items(components: &Components) -> Vec<Line> {
    if *components == Components::default() {
        return Vec::new();
    }
    let through = line(CHAPTER, json(&StoredItem::Through(components.through())));
    let loaded =
        components.all().iter().map(|component| line(CHAPTER, json(&StoredItem::Loaded(component.into()))));
    [through].into_iter().chain(loaded).collect()
}

/// The components during recovery.
#[derive(Debug, Default)]
pub(crate) struct Loading {
    components: Components,
    through: u64,
    loaded: Vec<Component>,
}

impl Loading {
    pub(crate) fn into_components(self) -> Components {
        self.components
    }
}

impl Chapter for Loading {
    fn name(&self) -> &'static str {
        CHAPTER
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        self.components.apply(place, &decode(json).map_err(Refused::Malformed)?);
        Ok(())
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        match serde_json::from_str(json).map_err(|error| Refused::Malformed(error.to_string()))? {
            StoredItem::Through(through) => self.through = through,
            StoredItem::Loaded(component) => {
                self.loaded.push(component.try_into().map_err(Refused::Malformed)?);
            }
        }
        Ok(())
    }

    fn restored(&mut self) -> Result<(), Refused> {
        self.components = Components::restore(self.through, std::mem::take(&mut self.loaded));
        Ok(())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
