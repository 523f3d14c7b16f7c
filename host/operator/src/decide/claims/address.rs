//! Picks the address of a claim.

use std::net::IpAddr;

use ipnet::IpNet;
use tenure_cluster::convert::{ClaimLease, ClaimWish};
use tenure_leases::{RangeId, RangeState, RangeUse};

use super::super::EXHAUSTED;
use super::WaitReason;
use crate::decide::held::{AddressesByGroup, HeldClaims};
use crate::memory::OperatorMemory;
use crate::view::{ClusterView, PoolView, is_ipv6};

/// The most free addresses that are compared for one claim.
const CANDIDATES: usize = 256;

/// The addresses that are leased to claims.
pub(super) fn leased(view: &ClusterView) -> AddressesByGroup {
    let blocks = view.claim_blocks.iter().map(|block| (block.group.clone(), block.block.cidr));
    let mut leased = AddressesByGroup::new();
    for (group, cidr) in blocks.chain(view.unreadable_blocks.iter().cloned()) {
        leased.entry(group).or_default().insert(cidr);
    }
    leased
}

/// Picks the address of a claim, or says why there is none.
pub(super) fn address(
    view: &ClusterView,
    memory: &OperatorMemory,
    wish: &ClaimWish,
    (leased, held): (&AddressesByGroup, &HeldClaims),
) -> Result<ClaimLease, WaitReason> {
    let because = |reason, message| WaitReason { reason, message };
    let name = &wish.pool;
    let pool = view.pools.iter().find(|pool| *pool.lease.key.name == **name);
    let pool = pool.ok_or_else(|| because("PoolUnknown", format!("there is no AddressPool {name}")))?;
    if pool.usage() != RangeUse::Claims {
        let message = format!("AddressPool {name} has blocks for nodes; a pool for claims has usage: Claims");
        return Err(because("PoolNotForClaims", message));
    }
    if pool.lease.disabled || pool.lease.deleting {
        return Err(because("PoolClosed", format!("AddressPool {name} is disabled or being deleted")));
    }
    let has = |taken: &AddressesByGroup, cidr: IpNet| {
        taken.get(&pool.group).is_some_and(|taken| taken.contains(&cidr))
    };
    // An address of a node's block is never a claim's, whichever it asks for.
    let is_taken = |cidr: IpNet| has(leased, cidr) || held.is_foreign(&pool.group, cidr);
    let is_free = |cidr: IpNet| !is_taken(cidr) && !has(&held.turns, cidr);
    let lease = |range, cidr| ClaimLease {
        group: pool.group.clone(),
        cidr,
        range,
        pool: pool.lease.key.clone(),
        claim: wish.claim.clone(),
    };
    if let Some(address) = wish.address {
        let cidr = IpNet::from(address);
        let found = place(view, pool, cidr).filter(|_| !is_withheld(pool, address));
        let range = found.ok_or_else(|| {
            because("AddressOutside", format!("AddressPool {name} gives {address} to no claim"))
        })?;
        // A node that says it has the address says so for this claim: its lease was lost.
        return match is_taken(cidr) {
            false => Ok(lease(range, cidr)),
            true => {
                Err(because("AddressTaken", format!("{address} is another claim's, or in a node's block")))
            }
        };
    }
    let of_family = |cidr: IpNet| wish.is_ipv6.is_none_or(|ipv6| is_ipv6(cidr) == ipv6);
    // A node that says it has the address has it for this claim.
    let before = wish.before.map(IpNet::from).filter(|cidr| of_family(*cidr) && !is_taken(*cidr));
    if let Some((range, cidr)) = before.and_then(|cidr| Some((place(view, pool, cidr)?, cidr))) {
        return Ok(lease(range, cidr));
    }
    let mut free: Vec<(RangeId, IpNet)> = Vec::new();
    let space = view.spaces.get(&*pool.group);
    for range in space.into_iter().flat_map(|space| space.space.ranges()) {
        let is_open = range.state == RangeState::Open && range.usage == RangeUse::Claims;
        let Ok(cells) = range.cidr.subnets(range.unit) else { continue };
        if !is_open || range.pool != pool.lease.key || !of_family(range.cidr) {
            continue;
        }
        let usable = cells.filter(|cell| {
            is_free(*cell) && place(view, pool, *cell).is_some() && !is_withheld(pool, cell.addr())
        });
        free.extend(usable.take(CANDIDATES).map(|cell| (range.id, cell)));
    }
    // IPv4 first, and an address that was in use lately last.
    let chosen = free
        .into_iter()
        .min_by_key(|(_, cidr)| (is_ipv6(*cidr), memory.release_of(&pool.group, *cidr), *cidr));
    let (range, cidr) = chosen.ok_or_else(|| because(EXHAUSTED, exhausted(pool, leased, held)))?;
    Ok(lease(range, cidr))
}

/// Says why no address of a pool is free, for people. Nodes that say that they have addresses which are leased to no claim may be wrong.
fn exhausted(pool: &PoolView, leased: &AddressesByGroup, held: &HeldClaims) -> String {
    let name = &pool.lease.key.name;
    let leased = |cidr: &IpNet| leased.get(&pool.group).is_some_and(|leased| leased.contains(cidr));
    let is_pools = |cidr: &IpNet| pool.ranges.iter().any(|range| range.cidr.contains(cidr));
    let turns = held.turns.get(&pool.group).into_iter().flatten();
    match turns.filter(|cidr| is_pools(cidr) && !leased(cidr)).count() {
        0 => format!("no address of AddressPool {name} is free"),
        count => format!(
            "no address of AddressPool {name} is free; {count} are leased to no claim, and in the `claims` of NodeIPAMs as `Held`"
        ),
    }
}

/// The open range of a pool that gives an address to claims.
fn place(view: &ClusterView, pool: &PoolView, cidr: IpNet) -> Option<RangeId> {
    let space = &view.spaces.get(&*pool.group)?.space;
    let own = space.ranges().iter().filter(|range| range.pool == pool.lease.key);
    own.map(|range| range.id).find(|id| space.admit_claim(*id, cidr).is_ok())
}

/// Whether a pool gives an address to nobody: an exclusion, a gateway, or the first or the last one of its CIDR.
fn is_withheld(pool: &PoolView, address: IpAddr) -> bool {
    let spec = &pool.object.spec;
    let gateways = spec.gateway.iter().flat_map(|gateway| [&gateway.ipv4, &gateway.ipv6]).flatten();
    let is_gateway =
        gateways.filter_map(|gateway| gateway.parse().ok()).any(|gateway: IpAddr| gateway == address);
    let is_end = pool.ranges.iter().map(|range| range.cidr).any(|cidr| {
        let has_ends = cidr.prefix_len() + 1 < cidr.max_prefix_len();
        let is_last = address == cidr.broadcast() && address.is_ipv4();
        has_ends && (address == cidr.network() || is_last)
    });
    is_gateway || is_end || spec.exclusions.iter().any(|entry| entry.contains(address))
}
