//! The chapter `ledger` as it is stored: facts in the log, and the items of a network in a snapshot.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_ledger::books::{LastAddress, Remembrance, Supplied};
use tenure_ledger::{Book, Conflict, Image, LedgerFact};
use tenure_types::{
    Cooling, Definer, Generation, Moment, Network, NetworkConfig, NetworkName, Pool, PoolName, RangeName,
};

use super::allocation::{StoredAllocation, StoredPlace};
use super::range::{StoredAttributes, StoredMoment, StoredPool, StoredRange, attributes, stored_attributes};
use super::shared::Shared;
use super::{VERSION, json, line};
use crate::chapters::{Chapter, Refused};
use crate::line::Line;

pub(super) const CHAPTER: &str = "ledger";

/// How many cooling addresses, claims that ended or names a line has.
const IN_A_LINE: usize = 256;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredFact<'a> {
    #[serde(borrow)]
    Defined(StoredNetwork<'a>),
    Removed {
        #[serde(borrow)]
        network: Cow<'a, str>,
        at: StoredMoment,
    },
    Importing {
        #[serde(borrow)]
        network: Cow<'a, str>,
        under_way: bool,
        at: StoredMoment,
    },
    RangeAdded {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        pool: Cow<'a, str>,
        #[serde(borrow)]
        range: StoredRange<'a>,
        at: StoredMoment,
    },
    RangeDraining {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        pool: Cow<'a, str>,
        #[serde(borrow)]
        range: Cow<'a, str>,
        draining: bool,
        at: StoredMoment,
    },
    RangeRemoved {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        pool: Cow<'a, str>,
        #[serde(borrow)]
        range: Cow<'a, str>,
        at: StoredMoment,
    },
    #[serde(borrow)]
    Allocated(Box<StoredAllocation<'a>>),
    Renewed {
        #[serde(borrow)]
        network: Cow<'a, str>,
        generation: u64,
        requested_at: StoredMoment,
        #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
        netns: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        netns_seen: Option<StoredPlace>,
    },
    Released {
        #[serde(borrow)]
        network: Cow<'a, str>,
        generation: u64,
        at: StoredMoment,
        #[serde(borrow)]
        reason: Cow<'a, str>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredNetwork<'a> {
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

/// A line of a snapshot.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredItem<'a> {
    /// A network begins; what follows is of it.
    Network {
        through: u64,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        importing: bool,
        next_generation: u64,
        #[serde(borrow)]
        network: StoredNetwork<'a>,
    },
    /// A range of a pool.
    Range {
        #[serde(borrow)]
        pool: Cow<'a, str>,
        #[serde(borrow)]
        range: StoredRange<'a>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        draining: bool,
    },
    /// An address that was handed out last: of a pool, or of its ranges with an attribute.
    Last {
        #[serde(borrow)]
        pool: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<(Box<str>, Box<str>)>,
        address: IpAddr,
    },
    /// Addresses that cool, least recently freed first.
    Cooling(Vec<(IpAddr, StoredMoment)>),
    /// A live allocation.
    #[serde(borrow)]
    Allocation(Box<StoredAllocation<'a>>),
    /// Claims of other IPAMs that were taken over and have ended, by address.
    Settled(Vec<(IpAddr, Arc<str>)>),
    /// What owners that are gone had last, the longest gone first.
    Remembered(Vec<StoredRemembrance>),
    /// A network that was removed.
    Gone {
        #[serde(borrow)]
        network: Cow<'a, str>,
        through: u64,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredRemembrance {
    name: Arc<str>,
    at: StoredMoment,
    addresses: Vec<(Box<str>, IpAddr)>,
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
            name: network_name(&stored.name)?,
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

fn network_name(text: &str) -> Result<NetworkName, String> {
    NetworkName::new(text).map_err(|error| error.to_string())
}

fn pool_name(text: &str) -> Result<PoolName, String> {
    PoolName::new(text).map_err(|error| error.to_string())
}

fn range_name(text: &str) -> Result<RangeName, String> {
    RangeName::new(text).map_err(|error| error.to_string())
}

pub(super) fn encode(fact: &LedgerFact) -> Vec<u8> {
    json(&match fact {
        LedgerFact::Defined(network) => StoredFact::Defined(network.as_ref().into()),
        LedgerFact::Removed { network, at } => {
            StoredFact::Removed { network: network.as_str().into(), at: (*at).into() }
        }
        LedgerFact::Importing { network, under_way, at } => StoredFact::Importing {
            network: network.as_str().into(),
            under_way: *under_way,
            at: (*at).into(),
        },
        LedgerFact::RangeAdded { network, pool, range, at } => StoredFact::RangeAdded {
            network: network.as_str().into(),
            pool: pool.as_str().into(),
            range: range.as_ref().into(),
            at: (*at).into(),
        },
        LedgerFact::RangeDraining { network, pool, range, draining, at } => StoredFact::RangeDraining {
            network: network.as_str().into(),
            pool: pool.as_str().into(),
            range: range.as_str().into(),
            draining: *draining,
            at: (*at).into(),
        },
        LedgerFact::RangeRemoved { network, pool, range, at } => StoredFact::RangeRemoved {
            network: network.as_str().into(),
            pool: pool.as_str().into(),
            range: range.as_str().into(),
            at: (*at).into(),
        },
        LedgerFact::Allocated(allocation) => StoredFact::Allocated(Box::new(allocation.as_ref().into())),
        LedgerFact::Renewed { network, generation, requested_at, netns, netns_seen } => StoredFact::Renewed {
            network: network.as_str().into(),
            generation: generation.0,
            requested_at: (*requested_at).into(),
            netns: (&**netns).into(),
            netns_seen: netns_seen.map(StoredPlace::from),
        },
        LedgerFact::Released { network, generation, at, reason } => StoredFact::Released {
            network: network.as_str().into(),
            generation: generation.0,
            at: (*at).into(),
            reason: (&**reason).into(),
        },
    })
}

pub(super) fn decode(text: &str) -> Result<LedgerFact, String> {
    decode_sharing(text, &mut Shared::default())
}

fn decode_sharing(text: &str, shared: &mut Shared) -> Result<LedgerFact, String> {
    Ok(match serde_json::from_str(text).map_err(|error| error.to_string())? {
        StoredFact::Defined(network) => LedgerFact::Defined(Arc::new(network.try_into()?)),
        StoredFact::Removed { network, at } => {
            LedgerFact::Removed { network: shared.network(&network)?, at: at.into() }
        }
        StoredFact::Importing { network, under_way, at } => {
            LedgerFact::Importing { network: shared.network(&network)?, under_way, at: at.into() }
        }
        StoredFact::RangeAdded { network, pool, range, at } => LedgerFact::RangeAdded {
            network: shared.network(&network)?,
            pool: pool_name(&pool)?,
            range: Box::new(range.try_into()?),
            at: at.into(),
        },
        StoredFact::RangeDraining { network, pool, range, draining, at } => LedgerFact::RangeDraining {
            network: shared.network(&network)?,
            pool: pool_name(&pool)?,
            range: range_name(&range)?,
            draining,
            at: at.into(),
        },
        StoredFact::RangeRemoved { network, pool, range, at } => LedgerFact::RangeRemoved {
            network: shared.network(&network)?,
            pool: pool_name(&pool)?,
            range: range_name(&range)?,
            at: at.into(),
        },
        StoredFact::Allocated(allocation) => LedgerFact::Allocated(Arc::new(allocation.read(shared)?)),
        StoredFact::Renewed { network, generation, requested_at, netns, netns_seen } => LedgerFact::Renewed {
            network: shared.network(&network)?,
            generation: Generation(generation),
            requested_at: requested_at.into(),
            netns: netns.into(),
            netns_seen: netns_seen.map(Into::into),
        },
        StoredFact::Released { network, generation, at, reason } => LedgerFact::Released {
            network: shared.network(&network)?,
            generation: Generation(generation),
            at: at.into(),
            reason: reason.into(),
        },
    })
}

/// The items of a network in a snapshot. They are made one by one; the allocations are shared with the book until then.
pub(super) fn items(image: Image) -> impl Iterator<Item = Line> + Send {
    let Image { through, network, importing, ranges, next_generation, last, cooling, .. } = image;
    let (allocations, settled, remembered) = (image.allocations, image.settled, image.remembered);
    let item = |item: &StoredItem<'_>| line(CHAPTER, json(item));
    let first = item(&StoredItem::Network {
        through,
        importing,
        next_generation: next_generation.0,
        network: network.as_ref().into(),
    });
    let ranges = ranges.into_iter().map(move |Supplied { pool, range, draining }| {
        item(&StoredItem::Range { pool: pool.as_str().into(), range: (&range).into(), draining })
    });
    let last = last.into_iter().map(move |LastAddress { pool, label, address }| {
        item(&StoredItem::Last { pool: pool.as_str().into(), label, address })
    });
    let cooling = chunks(cooling).map(move |chunk| {
        let stored = chunk.into_iter().map(|(address, since): (IpAddr, Moment)| (address, since.into()));
        item(&StoredItem::Cooling(stored.collect()))
    });
    let allocations = allocations
        .into_iter()
        .map(move |allocation| item(&StoredItem::Allocation(Box::new(allocation.as_ref().into()))));
    let settled = chunks(settled).map(move |chunk| item(&StoredItem::Settled(chunk)));
    let remembered = chunks(remembered)
        .map(move |chunk| item(&StoredItem::Remembered(chunk.into_iter().map(Into::into).collect())));
    let states = ranges.chain(last).chain(cooling);
    [first].into_iter().chain(states).chain(allocations).chain(settled).chain(remembered)
}

/// The item of a network that was removed.
pub(super) fn gone(network: &NetworkName, through: u64) -> Line {
    line(CHAPTER, json(&StoredItem::Gone { network: network.as_str().into(), through }))
}

/// A list in parts that fit a line.
fn chunks<T>(list: Vec<T>) -> impl Iterator<Item = Vec<T>> {
    let mut rest = list.into_iter();
    std::iter::from_fn(move || {
        let chunk: Vec<T> = rest.by_ref().take(IN_A_LINE).collect();
        (!chunk.is_empty()).then_some(chunk)
    })
}

impl From<Remembrance> for StoredRemembrance {
    fn from(Remembrance { name, at, addresses }: Remembrance) -> Self {
        let addresses = addresses.iter().map(|(pool, address)| (pool.as_str().into(), *address)).collect();
        Self { name, at: at.into(), addresses }
    }
}

impl TryFrom<StoredRemembrance> for Remembrance {
    type Error = String;

    fn try_from(stored: StoredRemembrance) -> Result<Self, String> {
        let address = |(pool, address): (Box<str>, IpAddr)| Ok((pool_name(&pool)?, address));
        let addresses = stored.addresses.into_iter().map(address).collect::<Result<_, String>>()?;
        Ok(Self { name: stored.name, at: stored.at.into(), addresses })
    }
}

/// The books while they are rebuilt.
#[derive(Debug, Default)]
pub(crate) struct Books {
    books: BTreeMap<NetworkName, Book>,
    /// Networks that were removed, and where in the log.
    gone: BTreeMap<NetworkName, u64>,
    /// The network whose items are being taken in.
    image: Option<Image>,
    shared: Shared,
}

impl Books {
    /// The books, by name.
    pub(crate) fn into_books(self) -> Vec<Book> {
        self.books.into_values().collect()
    }

    fn take(&mut self, place: u64, fact: &LedgerFact) -> Result<(), Conflict> {
        let name = fact.network();
        if self.gone.get(name).is_some_and(|through| place <= *through) {
            return Ok(());
        }
        match (self.books.get_mut(name), fact) {
            (Some(book), LedgerFact::Removed { .. }) if place > book.through() => {
                book.apply(place, fact)?;
                self.books.remove(name);
                self.gone.insert(name.clone(), place);
                Ok(())
            }
            (Some(book), _) => book.apply(place, fact),
            (None, LedgerFact::Defined(network)) => {
                let mut book = Book::new(Arc::clone(network));
                book.apply(place, fact)?;
                self.books.insert(name.clone(), book);
                Ok(())
            }
            (None, _) => Err(Conflict::NoNetwork(name.clone())),
        }
    }

    /// Makes a book of the network whose items are all there.
    fn finish_network(&mut self) -> Result<(), Refused> {
        let Some(image) = self.image.take() else { return Ok(()) };
        let name = image.network.name.clone();
        self.books.insert(name, Book::restore(image).map_err(Refused::conflict)?);
        Ok(())
    }

    fn restore_item(&mut self, item: StoredItem<'_>) -> Result<(), Refused> {
        let malformed = Refused::Malformed;
        let item = match item {
            StoredItem::Network { through, importing, next_generation, network } => {
                self.finish_network()?;
                self.image = Some(Image {
                    through,
                    network: Arc::new(network.try_into().map_err(malformed)?),
                    importing,
                    ranges: Vec::new(),
                    next_generation: Generation(next_generation),
                    last: Vec::new(),
                    cooling: Vec::new(),
                    allocations: Vec::new(),
                    settled: Vec::new(),
                    remembered: Vec::new(),
                });
                return Ok(());
            }
            StoredItem::Gone { network, through } => {
                self.gone.insert(self.shared.network(&network).map_err(malformed)?, through);
                return Ok(());
            }
            item => item,
        };
        let Some(image) = &mut self.image else { return Err(malformed("it is of no network".to_owned())) };
        add(image, item, &mut self.shared).map_err(malformed)
    }
}

/// Adds an item to the network that it is of.
fn add(image: &mut Image, item: StoredItem<'_>, shared: &mut Shared) -> Result<(), String> {
    match item {
        StoredItem::Range { pool, range, draining } => {
            image.ranges.push(Supplied { pool: pool_name(&pool)?, range: range.try_into()?, draining });
        }
        StoredItem::Last { pool, label, address } => {
            image.last.push(LastAddress { pool: pool_name(&pool)?, label, address });
        }
        StoredItem::Cooling(addresses) => {
            image.cooling.extend(addresses.into_iter().map(|(address, since)| (address, since.into())));
        }
        StoredItem::Allocation(allocation) => image.allocations.push(Arc::new(allocation.read(shared)?)),
        StoredItem::Settled(claims) => image.settled.extend(claims),
        StoredItem::Remembered(names) => {
            for name in names {
                image.remembered.push(name.try_into()?);
            }
        }
        StoredItem::Network { .. } | StoredItem::Gone { .. } => {}
    }
    Ok(())
}

#[cfg(test)]
impl Books {
    /// The book as data that the items of one network make.
    pub(super) fn image_of(&mut self, items: impl Iterator<Item = Line>) -> Option<Image> {
        for item in items {
            let item = serde_json::from_slice(&item.json).unwrap();
            self.restore_item(item).unwrap();
        }
        self.image.take()
    }

    /// Up to which place a network is known to be gone.
    pub(super) fn gone_through(&self, network: &NetworkName) -> Option<u64> {
        self.gone.get(network).copied()
    }
}

impl Chapter for Books {
    fn name(&self) -> &'static str {
        CHAPTER
    }

    fn apply(&mut self, place: u64, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        let fact = decode_sharing(json, &mut self.shared).map_err(Refused::Malformed)?;
        self.take(place, &fact).map_err(Refused::conflict)
    }

    fn restore(&mut self, version: u32, json: &str) -> Result<(), Refused> {
        if version != VERSION {
            return Err(Refused::Version);
        }
        let item = serde_json::from_str(json).map_err(|error| Refused::Malformed(error.to_string()))?;
        self.restore_item(item)
    }

    fn restored(&mut self) -> Result<(), Refused> {
        self.finish_network()
    }

    /// Every attachment has ended, and all cooling begins anew: moments of two boots cannot be compared.
    fn enter_boot(&mut self, now: Moment) -> Result<usize, Refused> {
        let mut ended = 0;
        for book in self.books.values_mut() {
            ended += book.enter_boot(now).map_err(Refused::conflict)?;
        }
        Ok(ended)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
