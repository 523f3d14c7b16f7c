//! An item of a snapshot.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_ledger::books::{LastAddress, Remembrance, Supplied};
use tenure_ledger::{CoolingAddress, Image, QuarantineMark, QuarantineSubject, RemovedNetwork};
use tenure_types::{Moment, NetworkName, PoolName};

use super::CHAPTER;
use super::network::StoredNetwork;
use super::quarantine::StoredQuarantine;
use crate::line::ChapterLine;
use crate::v1::allocation::StoredAllocation;
use crate::v1::range::{StoredMoment, StoredRange};
use crate::v1::shared::Shared;
use crate::v1::{json, line};

/// How many cooling or quarantined addresses, settled claims or names fit in a line.
const IN_A_LINE: usize = 256;

/// A line of a snapshot.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StoredItem<'a> {
    /// The start of a network, which the following items belong to.
    Network {
        through: u64,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        importing: bool,
        next_generation: u64,
        /// For how many seconds the cooling addresses cool at least, each with the number of addresses in a row; absent if for
        /// as long as the network asks. Programs before 1.9 do not know it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cooldowns: Vec<(u32, usize)>,
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
    /// The address that was assigned last: of a pool, or of its ranges with an attribute.
    Last {
        #[serde(borrow)]
        pool: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<(Box<str>, Box<str>)>,
        address: IpAddr,
    },
    /// Addresses that are cooling down, least recently freed first.
    Cooling(Vec<(IpAddr, StoredMoment)>),
    /// A live allocation.
    #[serde(borrow)]
    Allocation(Box<StoredAllocation<'a>>),
    /// Claims of other IPAMs that were imported and have ended, by address.
    Settled(Vec<(IpAddr, Arc<str>)>),
    /// The last addresses of owners that are gone, the longest gone first.
    Remembered(Vec<StoredRemembrance>),
    /// The marks of quarantine.
    #[serde(borrow)]
    Quarantined(Vec<StoredQuarantine<'a>>),
    /// A network that was removed.
    Gone {
        #[serde(borrow)]
        network: Cow<'a, str>,
        through: u64,
        /// For how many seconds these addresses cool at least. Programs before 1.9 do not know the two.
        #[serde(default, skip_serializing_if = "is_zero")]
        seconds: u32,
        /// Some of the addresses that were cooling down then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cooling: Vec<(IpAddr, StoredMoment)>,
        /// Some of the claims of other IPAMs that had ended then, by address. Programs before 1.9 do not know it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        settled: Vec<(IpAddr, Arc<str>)>,
        /// Some of the addresses that were in quarantine. Programs before 1.10 do not know it.
        #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
        quarantined: Vec<StoredQuarantine<'a>>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_zero(seconds: &u32) -> bool {
    *seconds == 0
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredRemembrance {
    name: Arc<str>,
    at: StoredMoment,
    addresses: Vec<(Box<str>, IpAddr)>,
}

/// The items of a network in a snapshot, made lazily; until then the allocations are shared with the book.
pub(in crate::v1) fn items(image: Image) -> impl Iterator<Item = ChapterLine> + Send {
    let Image { through, network, importing, ranges, next_generation, last, cooling, cooldowns, .. } = image;
    let (allocations, settled, remembered) = (image.allocations, image.settled, image.remembered);
    let quarantined = chunks(image.quarantined).map(|chunk| {
        line(CHAPTER, json(&StoredItem::Quarantined(chunk.iter().map(StoredQuarantine::from).collect())))
    });
    let item = |item: &StoredItem<'_>| line(CHAPTER, json(item));
    let first = item(&StoredItem::Network {
        through,
        importing,
        next_generation: next_generation.0,
        cooldowns,
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
    let ended = settled.chain(remembered);
    [first].into_iter().chain(states).chain(allocations).chain(ended).chain(quarantined)
}

/// The items of a network that was removed; at least one.
pub(in crate::v1) fn gone(network: &NetworkName, removed: RemovedNetwork) -> Vec<ChapterLine> {
    let RemovedNetwork { through, mut cooling, settled, quarantined } = removed;
    cooling.sort_by_key(|cooling| cooling.seconds);
    let alike = cooling.chunk_by(|one, next| one.seconds == next.seconds);
    let parts = alike.flat_map(|alike| alike.chunks(IN_A_LINE));
    let stored = |seconds, cooling, settled, quarantined| {
        let network = network.as_str().into();
        line(CHAPTER, json(&StoredItem::Gone { network, through, seconds, cooling, settled, quarantined }))
    };
    let item = |part: &[CoolingAddress]| {
        let seconds = part.first().map_or(0, |cooling| cooling.seconds);
        let cooling = part.iter().map(|cooling| (cooling.address, cooling.since.into())).collect();
        stored(seconds, cooling, Vec::new(), Vec::new())
    };
    let settled = chunks(settled).map(|settled| stored(0, Vec::new(), settled, Vec::new()));
    let subject = |(address, mark): (IpAddr, QuarantineMark)| (QuarantineSubject::Address(address), mark);
    let marked: Vec<_> = quarantined.into_iter().map(subject).collect();
    let marked = marked
        .chunks(IN_A_LINE)
        .map(|chunk| stored(0, Vec::new(), Vec::new(), chunk.iter().map(StoredQuarantine::from).collect()));
    let lines: Vec<ChapterLine> = parts.map(item).chain(settled).chain(marked).collect();
    if lines.is_empty() { vec![item(&[])] } else { lines }
}

/// Splits a list into parts that fit in a line.
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

fn pool_name(text: &str) -> Result<PoolName, String> {
    PoolName::new(text).map_err(|error| error.to_string())
}

/// Adds an item to its network.
pub(super) fn add(image: &mut Image, item: StoredItem<'_>, shared: &mut Shared) -> Result<(), String> {
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
        StoredItem::Quarantined(marked) => {
            for marked in marked {
                image.quarantined.push(marked.try_into()?);
            }
        }
        StoredItem::Network { .. } | StoredItem::Gone { .. } => {}
    }
    Ok(())
}
