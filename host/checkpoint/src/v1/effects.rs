//! The chapter `effects` as it is stored.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use tenure_ledger::{EffectFact, Effects, Intent, Taken};
use tenure_types::{
    Attributes, EffectKind, IntentId, InvalidName, NetworkName, Object, PolicyStamp, PoolName, RangeName,
};

use super::allocation::StoredStamp;
use super::range::{StoredAttributes, StoredMoment, attributes, stored_attributes};
use super::{VERSION, json, line};
use crate::chapters::{Chapter, Refused};
use crate::line::Line;

pub(super) const CHAPTER: &str = "effects";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredFact<'a> {
    #[serde(borrow)]
    Intended(StoredIntent<'a>),
    Reached {
        #[serde(borrow)]
        id: Cow<'a, str>,
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow, default, skip_serializing_if = "StoredAttributes::is_empty")]
        reached: StoredAttributes<'a>,
        at: StoredMoment,
    },
    Done {
        #[serde(borrow)]
        id: Cow<'a, str>,
        #[serde(borrow)]
        network: Cow<'a, str>,
        at: StoredMoment,
    },
    Undone {
        #[serde(borrow)]
        id: Cow<'a, str>,
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        why: Cow<'a, str>,
        at: StoredMoment,
    },
    Seen {
        #[serde(borrow)]
        object: StoredObject<'a>,
        at: StoredMoment,
    },
    Gone {
        #[serde(borrow)]
        what: Cow<'a, str>,
        #[serde(borrow)]
        name: Cow<'a, str>,
        at: StoredMoment,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredIntent<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    network: Cow<'a, str>,
    #[serde(borrow)]
    pool: Cow<'a, str>,
    /// What it does, by name.
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "StoredAttributes::is_empty")]
    attributes: StoredAttributes<'a>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    takes: Vec<StoredTaken<'a>>,
    #[serde(borrow)]
    policy: StoredStamp<'a>,
    since: StoredMoment,
    #[serde(borrow, default, skip_serializing_if = "StoredAttributes::is_empty")]
    reached: StoredAttributes<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredTaken<'a> {
    #[serde(borrow)]
    pool: Cow<'a, str>,
    #[serde(borrow)]
    range: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    was_open: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredObject<'a> {
    /// The object's kind.
    #[serde(borrow)]
    what: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "StoredAttributes::is_empty")]
    attributes: StoredAttributes<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredItem<'a> {
    /// The place in the log up to which the following items are true.
    Through(u64),
    #[serde(borrow)]
    Intent(StoredIntent<'a>),
    #[serde(borrow)]
    Object(StoredObject<'a>),
}

impl<'a> From<&'a Intent> for StoredIntent<'a> {
    fn from(intent: &'a Intent) -> Self {
        let Intent { id, network, pool, kind, attributes, takes, policy, since, reached } = intent;
        Self {
            id: id.as_str().into(),
            network: network.as_str().into(),
            pool: pool.as_str().into(),
            kind: kind.name().into(),
            attributes: stored_attributes(attributes),
            takes: takes.iter().map(StoredTaken::from).collect(),
            policy: policy.into(),
            since: (*since).into(),
            reached: stored_attributes(reached),
        }
    }
}

impl TryFrom<StoredIntent<'_>> for Intent {
    type Error = String;

    fn try_from(stored: StoredIntent<'_>) -> Result<Self, String> {
        let text = |error: InvalidName| error.to_string();
        let unknown = || format!("no effect is called {:?}", stored.kind);
        Ok(Self {
            id: IntentId::new(&stored.id).map_err(text)?,
            network: NetworkName::new(&stored.network).map_err(text)?,
            pool: PoolName::new(&stored.pool).map_err(text)?,
            kind: EffectKind::named(&stored.kind).ok_or_else(unknown)?,
            attributes: attributes(&stored.attributes)?,
            takes: stored.takes.into_iter().map(Taken::try_from).collect::<Result<_, _>>()?,
            policy: PolicyStamp::try_from(stored.policy)?,
            since: stored.since.into(),
            reached: attributes(&stored.reached)?,
        })
    }
}

impl<'a> From<&'a Taken> for StoredTaken<'a> {
    fn from(Taken { pool, range, was_open }: &'a Taken) -> Self {
        Self { pool: pool.as_str().into(), range: range.as_str().into(), was_open: *was_open }
    }
}

impl TryFrom<StoredTaken<'_>> for Taken {
    type Error = String;

    fn try_from(stored: StoredTaken<'_>) -> Result<Self, String> {
        let text = |error: InvalidName| error.to_string();
        Ok(Self {
            pool: PoolName::new(&stored.pool).map_err(text)?,
            range: RangeName::new(&stored.range).map_err(text)?,
            was_open: stored.was_open,
        })
    }
}

impl<'a> From<&'a Object> for StoredObject<'a> {
    fn from(Object { kind, name, attributes }: &'a Object) -> Self {
        let attributes = stored_attributes(attributes);
        Self { what: kind.into(), name: name.into(), attributes }
    }
}

impl TryFrom<StoredObject<'_>> for Object {
    type Error = String;

    fn try_from(stored: StoredObject<'_>) -> Result<Self, String> {
        let attributes = attributes(&stored.attributes)?;
        Ok(Self { kind: stored.what.into_owned(), name: stored.name.into_owned(), attributes })
    }
}

pub(super) fn encode(fact: &EffectFact) -> Vec<u8> {
    json(&match fact {
        EffectFact::Intended(intent) => StoredFact::Intended(intent.into()),
        EffectFact::Reached { id, network, reached, at } => StoredFact::Reached {
            id: id.as_str().into(),
            network: network.as_str().into(),
            reached: stored_attributes(reached),
            at: (*at).into(),
        },
        EffectFact::Done { id, network, at } => {
            StoredFact::Done { id: id.as_str().into(), network: network.as_str().into(), at: (*at).into() }
        }
        EffectFact::Undone { id, network, why, at } => StoredFact::Undone {
            id: id.as_str().into(),
            network: network.as_str().into(),
            why: (&**why).into(),
            at: (*at).into(),
        },
        EffectFact::Seen { object, at } => StoredFact::Seen { object: object.into(), at: (*at).into() },
        EffectFact::Gone { kind, name, at } => {
            StoredFact::Gone { what: kind.into(), name: name.into(), at: (*at).into() }
        }
    })
}

pub(super) fn decode(text: &str) -> Result<EffectFact, String> {
    Ok(match serde_json::from_str(text).map_err(|error| error.to_string())? {
        StoredFact::Intended(intent) => EffectFact::Intended(intent.try_into()?),
        StoredFact::Reached { id, network, reached, at } => {
            let (id, network) = of(&id, &network)?;
            let reached: Attributes = attributes(&reached)?;
            EffectFact::Reached { id, network, reached, at: at.into() }
        }
        StoredFact::Done { id, network, at } => {
            let (id, network) = of(&id, &network)?;
            EffectFact::Done { id, network, at: at.into() }
        }
        StoredFact::Undone { id, network, why, at } => {
            let (id, network) = of(&id, &network)?;
            EffectFact::Undone { id, network, why: (&*why).into(), at: at.into() }
        }
        StoredFact::Seen { object, at } => EffectFact::Seen { object: object.try_into()?, at: at.into() },
        StoredFact::Gone { what, name, at } => {
            EffectFact::Gone { kind: what.into_owned(), name: name.into_owned(), at: at.into() }
        }
    })
}

fn of(id: &str, network: &str) -> Result<(IntentId, NetworkName), String> {
    let text = |error: InvalidName| error.to_string();
    Ok((IntentId::new(id).map_err(text)?, NetworkName::new(network).map_err(text)?))
}

/// The items of a snapshot; none if the host never did anything outside the ledger.
pub(super) fn items(effects: &Effects) -> Vec<Line> {
    if *effects == Effects::default() {
        return Vec::new();
    }
    let through = line(CHAPTER, json(&StoredItem::Through(effects.through())));
    let open = effects.open().map(|intent| line(CHAPTER, json(&StoredItem::Intent((&**intent).into()))));
    let objects = effects.objects();
    let objects = objects.map(|object| line(CHAPTER, json(&StoredItem::Object((&**object).into()))));
    [through].into_iter().chain(open).chain(objects).collect()
}

/// The effects during recovery.
#[derive(Debug, Default)]
pub(crate) struct Intending {
    effects: Effects,
    through: u64,
    open: Vec<Intent>,
    objects: Vec<Object>,
}

impl Intending {
    pub(crate) fn into_effects(self) -> Effects {
        self.effects
    }
}

impl Chapter for Intending {
    fn name(&self) -> &'static str {
        CHAPTER
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        self.effects.apply(place, &decode(json).map_err(Refused::Malformed)?);
        Ok(())
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        match serde_json::from_str(json).map_err(|error| Refused::Malformed(error.to_string()))? {
            StoredItem::Through(through) => self.through = through,
            StoredItem::Intent(intent) => self.open.push(intent.try_into().map_err(Refused::Malformed)?),
            StoredItem::Object(object) => self.objects.push(object.try_into().map_err(Refused::Malformed)?),
        }
        Ok(())
    }

    fn restored(&mut self) -> Result<(), Refused> {
        let (open, objects) = (std::mem::take(&mut self.open), std::mem::take(&mut self.objects));
        self.effects = Effects::restore(self.through, open, objects);
        Ok(())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
