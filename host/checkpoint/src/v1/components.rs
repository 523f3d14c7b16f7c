//! The chapter `components` as it is stored.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use tenure_ledger::{Component, ComponentFact, Components};
use tenure_types::{Moment, PolicyStamp};

use super::allocation::StoredStamp;
use super::form::{As, Lent, form};
use super::range::StoredMoment;
use super::stored::Stored;

#[derive(Serialize, Deserialize)]
#[serde(remote = "ComponentFact", rename_all = "kebab-case")]
pub(crate) enum StoredFact {
    Loaded(#[serde(with = "StoredComponent")] Component),
    Unloaded {
        #[serde(with = "As::<StoredStamp<'_>>")]
        policy: PolicyStamp,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
}

form!(StoredFact of ComponentFact);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Component")]
struct StoredComponent {
    #[serde(with = "As::<StoredStamp<'_>>")]
    policy: PolicyStamp,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    source: String,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    signer: String,
    #[serde(with = "As::<StoredMoment>")]
    at: Moment,
}

form!(StoredComponent of Component);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoredItem<'a> {
    /// A policy that was loaded, in the order of loading.
    Loaded(#[serde(with = "Lent::<StoredComponent>")] Cow<'a, Component>),
}

impl Stored for Components {
    const NAME: &'static str = "components";

    type Facts = StoredFact;
    type Item<'a> = StoredItem<'a>;
    type Parts = Vec<Component>;

    fn items(&self) -> impl Iterator<Item = StoredItem<'_>> {
        self.all().iter().map(|component| StoredItem::Loaded(Cow::Borrowed(component)))
    }

    fn add(loaded: &mut Vec<Component>, StoredItem::Loaded(component): StoredItem<'_>) -> Result<(), String> {
        loaded.push(component.into_owned());
        Ok(())
    }

    fn restore(through: u64, loaded: &mut Vec<Component>) -> Self {
        Self::restore(through, std::mem::take(loaded))
    }
}
