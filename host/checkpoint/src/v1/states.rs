//! The chapter `states` as it is stored. The bytes are in base64, since they may be anything.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tenure_ledger::states::Memory;
use tenure_ledger::{PolicyState, StateFact, States};
use tenure_types::{Moment, NetworkName, PolicyStamp};

use super::allocation::StoredStamp;
use super::form::{As, Each, form};
use super::range::StoredMoment;
use super::stored::Stored;

#[derive(Serialize, Deserialize)]
#[serde(remote = "StateFact", rename_all = "kebab-case")]
pub(crate) enum StoredFact {
    Kept {
        network: NetworkName,
        #[serde(with = "StoredState")]
        state: PolicyState,
    },
    Undone {
        network: NetworkName,
        #[serde(with = "StoredState")]
        state: PolicyState,
    },
    Forgotten {
        network: NetworkName,
        #[serde(with = "As::<StoredMoment>")]
        at: Moment,
    },
}

form!(StoredFact of StateFact);

#[derive(Serialize, Deserialize)]
#[serde(remote = "PolicyState")]
struct StoredState {
    #[serde(with = "As::<StoredStamp<'_>>")]
    policy: PolicyStamp,
    version: u64,
    #[serde(rename = "base64", with = "Base64", default, skip_serializing_if = "<[u8]>::is_empty")]
    bytes: Arc<[u8]>,
    #[serde(with = "As::<StoredMoment>")]
    at: Moment,
}

form!(StoredState of PolicyState);

struct Base64;

impl Base64 {
    fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u8]>, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        let bytes = STANDARD.decode(&*text);
        bytes.map(Into::into).map_err(|error| D::Error::custom(format_args!("base64: {error}")))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoredItem {
    /// The states of a network; those of earlier policies are listed latest first.
    States {
        network: NetworkName,
        #[serde(with = "StoredState")]
        now: PolicyState,
        #[serde(with = "Each::<StoredState>", default, skip_serializing_if = "VecDeque::is_empty")]
        before: VecDeque<PolicyState>,
    },
}

impl Stored for States {
    const NAME: &'static str = "states";

    type Facts = StoredFact;
    type Item<'a> = StoredItem;
    type Parts = BTreeMap<NetworkName, Memory>;

    fn items(&self) -> impl Iterator<Item = StoredItem> {
        self.all().map(|(network, memory)| {
            let Memory { now, before } = memory.clone();
            StoredItem::States { network: network.clone(), now, before }
        })
    }

    fn add(networks: &mut Self::Parts, item: StoredItem) -> Result<(), String> {
        let StoredItem::States { network, now, before } = item;
        networks.insert(network, Memory { now, before });
        Ok(())
    }

    fn restore(through: u64, networks: &mut Self::Parts) -> Self {
        Self::restore(through, std::mem::take(networks))
    }
}
