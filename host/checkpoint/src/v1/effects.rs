//! The chapter `effects` as it is stored.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tenure_ledger::{EffectFact, Effects, Intent, IntentOrigin, Taken};
use tenure_types::{Attributes, EffectKind, IntentId, Moment, NetworkName, Object, PoolName, RangeName};

use super::allocation::StoredStamp;
use super::form::{As, Each, Lent, form};
use super::range::{Named, StoredMoment};
use super::stored::Stored;

/// The origin of an intent that the host began.
const HOST: &str = "host";

#[derive(Serialize, Deserialize)]
#[serde(remote = "EffectFact", rename_all = "kebab-case")]
pub(crate) enum StoredFact {
    Intended(#[serde(with = "As::<StoredIntent<'_>>")] Intent),
    Reached {
        id: IntentId,
        network: NetworkName,
        #[serde(with = "Named", default, skip_serializing_if = "Attributes::is_empty")]
        reached: Attributes,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
    Done {
        id: IntentId,
        network: NetworkName,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
    Undone {
        id: IntentId,
        network: NetworkName,
        why: Box<str>,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
    Seen {
        #[serde(with = "StoredObject")]
        object: Object,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
    Gone {
        #[serde(rename = "what")]
        kind: String,
        name: String,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
}

form!(StoredFact of EffectFact);

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredIntent<'a> {
    id: IntentId,
    network: NetworkName,
    pool: PoolName,
    #[serde(with = "KindName")]
    kind: EffectKind,
    #[serde(with = "Named", default, skip_serializing_if = "Attributes::is_empty")]
    attributes: Attributes,
    #[serde(with = "Each::<StoredTaken>", default, skip_serializing_if = "Vec::is_empty")]
    takes: Vec<Taken>,
    #[serde(borrow)]
    policy: StoredStamp<'a>,
    /// [`HOST`] if no policy planned it, so that `policy` only satisfies older readers; they did not write it.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    origin: Cow<'a, str>,
    #[serde(with = "As::<StoredMoment>")]
    since: Moment,
    #[serde(with = "Named", default, skip_serializing_if = "Attributes::is_empty")]
    reached: Attributes,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Taken")]
struct StoredTaken {
    pool: PoolName,
    range: RangeName,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    was_open: bool,
}

form!(StoredTaken of Taken);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Object")]
struct StoredObject {
    #[serde(rename = "what")]
    kind: String,
    name: String,
    #[serde(with = "Named", default, skip_serializing_if = "Attributes::is_empty")]
    attributes: Attributes,
}

form!(StoredObject of Object);

/// The kind of an effect, by name.
struct KindName;

impl KindName {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn serialize<S: Serializer>(kind: &EffectKind, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(kind.name())
    }

    fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<EffectKind, D::Error> {
        let name = Cow::<str>::deserialize(from)?;
        let unknown = || D::Error::custom(format_args!("no effect is called {name:?}"));
        EffectKind::named(&name).ok_or_else(unknown)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoredItem<'a> {
    #[serde(borrow)]
    Intent(Box<StoredIntent<'a>>),
    Object(#[serde(with = "Lent::<StoredObject>")] Cow<'a, Object>),
}

impl<'a> From<&'a Intent> for StoredIntent<'a> {
    fn from(intent: &'a Intent) -> Self {
        let Intent { id, network, pool, kind, attributes, takes, since, reached, .. } = intent.clone();
        let (policy, origin) = match &intent.origin {
            IntentOrigin::Policy(stamp) => (stamp.into(), ""),
            IntentOrigin::Host => (StoredStamp::of_host(), HOST),
        };
        Self { id, network, pool, kind, attributes, takes, policy, origin: origin.into(), since, reached }
    }
}

impl TryFrom<StoredIntent<'_>> for Intent {
    type Error = String;

    fn try_from(stored: StoredIntent<'_>) -> Result<Self, String> {
        let StoredIntent { id, network, pool, kind, attributes, takes, policy, origin, since, reached } =
            stored;
        let origin = match &*origin {
            HOST => IntentOrigin::Host,
            _ => IntentOrigin::Policy(policy.try_into()?),
        };
        Ok(Self { id, network, pool, kind, attributes, takes, origin, since, reached })
    }
}

/// The intents and objects that were read.
#[derive(Debug, Default)]
pub(crate) struct ReadEffects {
    open: Vec<Intent>,
    objects: Vec<Object>,
}

impl Stored for Effects {
    const NAME: &'static str = "effects";

    type Facts = StoredFact;
    type Item<'a> = StoredItem<'a>;
    type Parts = ReadEffects;

    fn items(&self) -> impl Iterator<Item = StoredItem<'_>> {
        let open = self.open().map(|intent| StoredItem::Intent(Box::new(intent.as_ref().into())));
        open.chain(self.objects().map(|object| StoredItem::Object(Cow::Borrowed(object))))
    }

    fn add(read: &mut ReadEffects, item: StoredItem<'_>) -> Result<(), String> {
        match item {
            StoredItem::Intent(intent) => read.open.push((*intent).try_into()?),
            StoredItem::Object(object) => read.objects.push(object.into_owned()),
        }
        Ok(())
    }

    fn restore(through: u64, read: &mut ReadEffects) -> Self {
        let ReadEffects { open, objects } = std::mem::take(read);
        Self::restore(through, open, objects)
    }
}
