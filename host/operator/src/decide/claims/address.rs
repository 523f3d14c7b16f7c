//! Picks the address of a claim.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use ipnet::IpNet;
use tenure_cluster::convert::{ClaimLease, ClaimWish};
use tenure_leases::{RangeId, RangeState, RangeUse};

use super::super::EXHAUSTED;
use super::WaitReason;
use crate::memory::OperatorMemory;
use crate::view::{ClusterView, PoolView, is_ipv6};

/// The most free addresses that are compared for one claim.
const CANDIDATES: usize = 256;

/// The addresses of an overlap group that are somebody's.
pub(super) type TakenAddresses = HashMap<String, HashSet<IpNet>>;

/// The addresses that are leased to claims.
pub(super) fn leased(view: &ClusterView) -> TakenAddresses {
    let blocks = view.claim_blocks.iter().map(|block| (block.group.clone(), block.block.cidr));
    gather(blocks.chain(view.unreadable_blocks.iter().cloned()))
}

/// The addresses that nodes say they have, or want, with a lease or without.
pub(super) fn said(view: &ClusterView) -> TakenAddresses {
    let turns = view.said.values().flat_map(|said| &said.spec.claims);
    gather(turns.map(|turn| (turn.block.group().to_owned(), turn.block.cidr())))
}

fn gather(addresses: impl Iterator<Item = (String, IpNet)>) -> TakenAddresses {
    let mut taken = TakenAddresses::new();
    for (group, cidr) in addresses {
        taken.entry(group).or_default().insert(cidr);
    }
    taken
}

/// Picks the address of a claim, or says why there is none.
pub(super) fn address(
    view: &ClusterView,
    memory: &OperatorMemory,
    wish: &ClaimWish,
    (leased, said): (&TakenAddresses, &TakenAddresses),
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
    let has = |taken: &TakenAddresses, cidr: IpNet| {
        taken.get(&pool.group).is_some_and(|taken| taken.contains(&cidr))
    };
    let is_free = |cidr: IpNet| !has(leased, cidr) && !has(said, cidr);
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
        // A node that says it has the address, or wants it, says so for this claim: its lease was lost.
        return match has(leased, cidr) {
            false => Ok(lease(range, cidr)),
            true => Err(because("AddressTaken", format!("{address} is another claim's"))),
        };
    }
    let of_family = |cidr: IpNet| wish.is_ipv6.is_none_or(|ipv6| is_ipv6(cidr) == ipv6);
    // A node that says it has the address has it for this claim.
    let before = wish.before.map(IpNet::from).filter(|cidr| of_family(*cidr) && !has(leased, *cidr));
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
    let (range, cidr) =
        chosen.ok_or_else(|| because(EXHAUSTED, format!("no address of AddressPool {name} is free")))?;
    Ok(lease(range, cidr))
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
