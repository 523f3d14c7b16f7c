//! The ledger as a policy sees it: the state of its network at this request.

mod shelf;

use std::net::IpAddr;

use tenure_sdk_config::{ASSIGNS, PREFIXES};

pub use self::shelf::{Direction, RangeView, Shelf, room};
pub use crate::bindings::tenure::ipam::ledger::Usage;
use crate::convert::{attributes, range};
use crate::host::ledger as host;
use crate::{Attributes, Need, Range, Supply};

/// The state of an address.
///
/// ```
/// use tenure_sdk::ledger::Standing;
///
/// let may_be_proposed = |standing| matches!(standing, Standing::Free | Standing::Cooling);
/// assert!(may_be_proposed(Standing::Free) && !may_be_proposed(Standing::Draining));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The address may be proposed.
    Free,
    /// An owner holds it.
    Held,
    /// The address was freed recently and is cooling down: it may be proposed if the network's cooling is preferred.
    Cooling,
    /// The address is in a range, but never assigned.
    Reserved,
    /// The address is in a range that is draining.
    Draining,
    /// The address is in no range of this network, or its state is one that this SDK does not know.
    Outside,
}

/// A pool of the network, without its ranges, of which there may be a thousand.
///
/// ```no_run
/// use tenure_sdk::ledger;
///
/// for pool in ledger::pools() {
///     let of_rack = pool.labelled("rack", "7").next_in_turn();
///     let address = of_rack.or_else(|| pool.next_in_turn());
///     # let _ = address;
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// The pool's index, which proposals refer to.
    pub index: u32,
    /// The pool's name, which identifies it across definitions.
    pub name: String,
    /// The source of the pool's ranges.
    pub supply: Supply,
    /// Whether each allocation must have an address of it.
    pub need: Need,
    /// The attributes of its definition.
    pub attributes: Attributes,
}

impl Pool {
    /// Whether it assigns prefixes, which only an agent's claim can have, and not single addresses.
    #[must_use]
    pub fn assigns_prefixes(&self) -> bool {
        self.attributes.get(ASSIGNS) == Some(PREFIXES)
    }

    /// All its ranges.
    #[must_use]
    pub fn shelf(&self) -> Shelf {
        Shelf::of(self.index)
    }

    /// The next address of all its ranges, by host-local's rule: [`Shelf::next_in_turn`].
    #[must_use]
    pub fn next_in_turn(&self) -> Option<IpAddr> {
        self.shelf().next_in_turn()
    }

    /// Returns the pool's ranges that have an attribute with this name and value.
    #[must_use]
    pub fn labelled(&self, name: &str, value: &str) -> Shelf {
        self.shelf().labelled(name, value)
    }
}

/// The network's pools.
///
/// ```no_run
/// # use tenure_sdk::{Need, ledger};
/// let needed: Vec<_> = ledger::pools().filter(|pool| pool.need == Need::Always).collect();
/// # let _ = needed;
/// ```
pub fn pools() -> impl Iterator<Item = Pool> {
    (0..).zip(host::pools()).map(|(index, pool)| Pool {
        index,
        name: pool.name,
        supply: pool.supply.into(),
        need: pool.need.into(),
        attributes: attributes(pool.attributes),
    })
}

/// The index of the pool with this name.
///
/// ```no_run
/// # use tenure_sdk::ledger::{self, Shelf};
/// let zone = ledger::pool_named("blue").or_else(|| ledger::pool_named("default"));
/// let free = zone.and_then(|pool| Shelf::of(pool).next_in_turn());
/// # let _ = free;
/// ```
#[must_use]
pub fn pool_named(name: &str) -> Option<u32> {
    host::pool_named(name)
}

/// The index of the pool that contains an address.
///
/// ```no_run
/// # use tenure_sdk::{Proposal, Request, ledger};
/// # fn propose(request: &Request, proposal: &mut Proposal) {
/// for address in &request.requested {
///     if let Some(pool) = ledger::pool_of(*address) {
///         proposal.assign(pool, *address);
///     }
/// }
/// # }
/// ```
#[must_use]
pub fn pool_of(address: IpAddr) -> Option<u32> {
    host::pool_of(&address.to_string())
}

/// The range that contains an address.
///
/// ```no_run
/// # use tenure_sdk::ledger;
/// let range = ledger::range_of("10.1.2.7".parse()?);
/// let zone = range.as_ref().and_then(|range| range.attributes.get("zone"));
/// # let _ = zone; Ok::<(), std::net::AddrParseError>(())
/// ```
#[must_use]
pub fn range_of(address: IpAddr) -> Option<Range> {
    range(host::range_of(&address.to_string())?)
}

/// The state of an address.
///
/// ```no_run
/// # use tenure_sdk::ledger::{self, Standing};
/// let address = "10.1.2.7".parse()?;
/// let may_be_had = matches!(ledger::standing_of(address), Standing::Free | Standing::Cooling);
/// # let _ = may_be_had; Ok::<(), std::net::AddrParseError>(())
/// ```
#[must_use]
pub fn standing_of(address: IpAddr) -> Standing {
    match host::standing_of(&address.to_string()) {
        host::Standing::Free => Standing::Free,
        host::Standing::Held => Standing::Held,
        host::Standing::Cooling => Standing::Cooling,
        host::Standing::Reserved => Standing::Reserved,
        host::Standing::Draining => Standing::Draining,
        host::Standing::Outside | host::Standing::Other(_) => Standing::Outside,
    }
}

/// The number of live allocations of the network with this name and value: `pod.namespace`, `owner.kind`,
/// `owner.agent`, or a tag.
///
/// ```no_run
/// let held = tenure_sdk::ledger::count_of("pod.namespace", "shop");
/// # let _ = held;
/// ```
#[must_use]
pub fn count_of(name: &str, value: &str) -> u32 {
    host::count_of(name, value)
}

/// The addresses that a [name](crate::Request::name) had last on this network, each with its pool, as far as the host
/// remembers them.
///
/// ```no_run
/// for (pool, address) in tenure_sdk::ledger::last_of("shop/web-0") {
///     tenure_sdk::debug(&format!("web-0 had {address} of pool {pool}"));
/// }
/// ```
#[must_use]
pub fn last_of(name: &str) -> Vec<(u32, IpAddr)> {
    let placed = |place: host::Place| Some((place.pool, place.address.parse().ok()?));
    host::last_of(name).into_iter().filter_map(placed).collect()
}
