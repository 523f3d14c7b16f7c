//! The whole of what a policy can ask of a network, as it is recorded.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use tenure_ledger::books::{LastAddress, Remembrance, Supplied};
use tenure_ledger::{Book, CoolingAddress, Outline};
use tenure_types::{
    Attributes, Cooling, Definer, Moment, Need, Network, NetworkConfig, NetworkName, PolicyStamp, Pool,
    PoolName, Range, RangeName, Supply,
};

use super::UnusableView;

/// A pool, a label and the address that was handed out last.
type ViewedLast = (String, Option<(Box<str>, Box<str>)>, IpAddr);

/// A name, the time of the release, and the addresses with their pools.
type ViewedName = (Arc<str>, u64, Vec<(String, IpAddr)>);

/// An outline of a book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::decisions) struct ViewedOutline {
    network: String,
    ipam: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    config: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, String>,
    /// Whether cooling addresses may be given before their time.
    gives_cooling: bool,
    pools: Vec<ViewedPool>,
    /// Each with its pool.
    ranges: Vec<(String, ViewedRange)>,
    /// The first and the last address of each run.
    held: Vec<(IpAddr, IpAddr)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prefixes: Vec<String>,
    /// Each with the time of its release, in nanoseconds of the boot, and the seconds that its network asked for.
    cooling: Vec<(IpAddr, u64, u32)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    quarantined: Vec<IpAddr>,
    counts: Vec<(Box<str>, Box<str>, u32)>,
    last: Vec<ViewedLast>,
    remembered: Vec<ViewedName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ViewedPool {
    name: String,
    /// Whether the host supplies its ranges.
    by_host: bool,
    optional: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ViewedRange {
    name: String,
    subnet: String,
    first: IpAddr,
    last: IpAddr,
    gateway: Option<IpAddr>,
    prefix_length: u8,
    draining: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, String>,
}

fn stored(attributes: &Attributes) -> BTreeMap<String, String> {
    attributes.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

impl From<Outline> for ViewedOutline {
    fn from(outline: Outline) -> Self {
        let network = outline.network;
        let cooling = |of: &CoolingAddress| (of.address, of.since.boot_ns, of.seconds);
        let remembered = |of: Remembrance| {
            let addresses = of.addresses.iter().map(|(pool, address)| (pool.to_string(), *address));
            (of.name, of.at.boot_ns, addresses.collect())
        };
        Self {
            network: network.name.to_string(),
            ipam: network.config.ipam.clone(),
            config: network.config.attributes.clone(),
            attributes: stored(&network.attributes),
            gives_cooling: network.cooling == Cooling::Preferred,
            pools: network.pools.iter().map(ViewedPool::from).collect(),
            ranges: outline.ranges.iter().map(|of| (of.pool.to_string(), of.into())).collect(),
            held: outline.held,
            prefixes: outline.prefixes.iter().map(ToString::to_string).collect(),
            cooling: outline.cooling.iter().map(cooling).collect(),
            quarantined: outline.quarantined,
            counts: outline.counts,
            last: outline.last.into_iter().map(|of| (of.pool.to_string(), of.label, of.address)).collect(),
            remembered: outline.remembered.into_iter().map(remembered).collect(),
        }
    }
}

impl From<&Pool> for ViewedPool {
    fn from(pool: &Pool) -> Self {
        Self {
            name: pool.name.to_string(),
            by_host: pool.supply == Supply::Host,
            optional: pool.need == Need::Optional,
            attributes: stored(&pool.attributes),
        }
    }
}

impl From<&Supplied> for ViewedRange {
    fn from(Supplied { range, draining, .. }: &Supplied) -> Self {
        Self {
            name: range.name().to_string(),
            subnet: range.subnet().to_string(),
            first: range.first(),
            last: range.last(),
            gateway: range.gateway(),
            prefix_length: range.prefix_length(),
            draining: *draining,
            attributes: stored(range.attributes()),
        }
    }
}

impl ViewedOutline {
    /// A book that answers a policy as the recorded one did.
    pub(in crate::decisions) fn book(&self, policy: &Arc<PolicyStamp>) -> Result<Book, UnusableView> {
        let at = |boot_ns| Moment { boot_ns, wall_ms: 0 };
        let pool_name = |name: &String| PoolName::new(name).map_err(UnusableView::new);
        let mut outline = Outline {
            network: Arc::new(self.network()?),
            ranges: Vec::with_capacity(self.ranges.len()),
            held: self.held.clone(),
            prefixes: Vec::with_capacity(self.prefixes.len()),
            cooling: Vec::with_capacity(self.cooling.len()),
            quarantined: self.quarantined.clone(),
            counts: self.counts.clone(),
            last: Vec::with_capacity(self.last.len()),
            remembered: Vec::with_capacity(self.remembered.len()),
        };
        for (pool, range) in &self.ranges {
            outline.ranges.push(range.read(pool_name(pool)?)?);
        }
        for prefix in &self.prefixes {
            outline.prefixes.push(prefix.parse::<IpNet>().map_err(UnusableView::new)?);
        }
        for (address, since, seconds) in &self.cooling {
            let (address, since, seconds) = (*address, at(*since), *seconds);
            outline.cooling.push(CoolingAddress { address, since, seconds });
        }
        for (pool, label, address) in &self.last {
            let (pool, label, address) = (pool_name(pool)?, label.clone(), *address);
            outline.last.push(LastAddress { pool, label, address });
        }
        for (name, since, addresses) in &self.remembered {
            let of = |(pool, address): &(String, IpAddr)| Ok((pool_name(pool)?, *address));
            let addresses = addresses.iter().map(of).collect::<Result<Vec<_>, UnusableView>>()?.into();
            outline.remembered.push(Remembrance { name: Arc::clone(name), at: at(*since), addresses });
        }
        Book::of_outline(outline, policy).map_err(UnusableView::new)
    }

    fn network(&self) -> Result<Network, UnusableView> {
        let config = NetworkConfig { ipam: self.ipam.clone(), attributes: self.config.clone() };
        Ok(Network {
            name: NetworkName::new(&self.network).map_err(UnusableView::new)?,
            config: Arc::new(config),
            pools: self.pools.iter().map(ViewedPool::read).collect::<Result<_, _>>()?,
            cooling: if self.gives_cooling { Cooling::Preferred } else { Cooling::Strict },
            attributes: Attributes::new(&self.attributes).map_err(UnusableView::new)?,
            defined_by: Definer::default(),
            changed_at: Moment::default(),
        })
    }
}

impl ViewedPool {
    fn read(&self) -> Result<Pool, UnusableView> {
        Ok(Pool {
            name: PoolName::new(&self.name).map_err(UnusableView::new)?,
            supply: if self.by_host { Supply::Host } else { Supply::Configuration },
            need: if self.optional { Need::Optional } else { Need::Always },
            attributes: Attributes::new(&self.attributes).map_err(UnusableView::new)?,
        })
    }
}

impl ViewedRange {
    fn read(&self, pool: PoolName) -> Result<Supplied, UnusableView> {
        let subnet = self.subnet.parse().map_err(UnusableView::new)?;
        let range = Range::new(subnet, self.first, self.last, self.gateway, self.prefix_length);
        let range = range.map_err(UnusableView::new)?;
        let attributes = Attributes::new(&self.attributes).map_err(UnusableView::new)?;
        let name = RangeName::new(&self.name).map_err(UnusableView::new)?;
        Ok(Supplied { pool, range: range.with(attributes).named(name), draining: self.draining })
    }
}
