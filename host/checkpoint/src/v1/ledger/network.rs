//! A network as it is stored, without its ranges.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_types::{Cooling, Definer, Network, NetworkConfig, NetworkName, Pool};

use crate::v1::range::{StoredAttributes, StoredMoment, StoredPool, attributes, stored_attributes};

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredNetwork<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    config: StoredConfig<'a>,
    #[serde(borrow)]
    pools: Vec<StoredPool<'a>>,
    cooling: StoredCooling,
    #[serde(borrow, default, skip_serializing_if = "StoredAttributes::is_empty")]
    attributes: StoredAttributes<'a>,
    defined_by: StoredDefiner,
    changed_at: StoredMoment,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredDefiner {
    Request,
    Configuration,
    Operator,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredConfig<'a> {
    #[serde(borrow)]
    ipam: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredCooling {
    Strict,
    Preferred,
}

impl<'a> From<&'a Network> for StoredNetwork<'a> {
    fn from(network: &'a Network) -> Self {
        let attribute = |(name, value): &'a (String, String)| (name.as_str().into(), value.as_str().into());
        Self {
            name: network.name.as_str().into(),
            config: StoredConfig {
                ipam: network.config.ipam.as_str().into(),
                attributes: network.config.attributes.iter().map(attribute).collect(),
            },
            pools: network.pools.iter().map(StoredPool::from).collect(),
            cooling: match network.cooling {
                Cooling::Strict => StoredCooling::Strict,
                Cooling::Preferred => StoredCooling::Preferred,
            },
            attributes: stored_attributes(&network.attributes),
            defined_by: match network.defined_by {
                Definer::Request => StoredDefiner::Request,
                Definer::Configuration => StoredDefiner::Configuration,
                Definer::Operator => StoredDefiner::Operator,
            },
            changed_at: network.changed_at.into(),
        }
    }
}

impl TryFrom<StoredNetwork<'_>> for Network {
    type Error = String;

    fn try_from(stored: StoredNetwork<'_>) -> Result<Self, String> {
        let attribute = |(name, value): (Cow<'_, str>, Cow<'_, str>)| (name.into_owned(), value.into_owned());
        let config = NetworkConfig {
            ipam: stored.config.ipam.into_owned(),
            attributes: stored.config.attributes.into_iter().map(attribute).collect(),
        };
        Ok(Self {
            name: NetworkName::new(&stored.name).map_err(|error| error.to_string())?,
            config: Arc::new(config),
            pools: stored.pools.into_iter().map(Pool::try_from).collect::<Result<_, _>>()?,
            cooling: match stored.cooling {
                StoredCooling::Strict => Cooling::Strict,
                StoredCooling::Preferred => Cooling::Preferred,
            },
            attributes: attributes(&stored.attributes)?,
            defined_by: match stored.defined_by {
                StoredDefiner::Request => Definer::Request,
                StoredDefiner::Configuration => Definer::Configuration,
                StoredDefiner::Operator => Definer::Operator,
            },
            changed_at: stored.changed_at.into(),
        })
    }
}
