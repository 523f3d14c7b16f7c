//! Proposals: an address of each family, of the first pool that has one, and there of the fullest block with room.
//!
//! Where the host offers pools, such as those that the pod's labels select, only they count, in the order of the offer.
//! So others become empty, and can be given back. Cooling addresses are never proposed.

use std::cmp::Reverse;
use std::net::IpAddr;

use tenure_sdk::ledger::{self, Direction, Pool, Standing, room};
use tenure_sdk::{Proposal, Refusal, Request};

use crate::names::{BLOCK, FULL, POOLS, SUPPLY_STATE};
use crate::settings::AddressFamily;

/// Proposes an address of each family.
///
/// # Errors
/// If no pool of a family has a free address, [`Refusal::NotYet`] as long as a block or a cooling address may come, and
/// [`Refusal::Exhausted`] if not. [`Refusal::Unavailable`] for a requested address.
pub fn propose(request: &Request) -> Result<Proposal, Refusal> {
    let mut requested = request.requested.clone();
    let pools: Vec<Pool> = ledger::pools().collect();
    let offered = offered(request, &pools);
    let mut proposal = Proposal::new();
    for family in families(&pools) {
        let of_family: Vec<&Pool> =
            offered.iter().copied().filter(|pool| AddressFamily::of(&pool.name) == Some(family)).collect();
        let is_here = |address: &IpAddr| {
            ledger::pool_of(*address).is_some_and(|index| of_family.iter().any(|pool| pool.index == index))
        };
        let (pool, address) = match requested.iter().position(is_here) {
            Some(position) => insisted_on(requested.remove(position))?,
            None => of_family
                .iter()
                .find_map(|pool| Some((pool.index, next(pool)?)))
                .ok_or_else(|| nothing(request, family, &of_family))?,
        };
        proposal.assign(pool, address);
    }
    match requested.first() {
        None => Ok(proposal),
        Some(left) => Err(Refusal::Unavailable(left_over(*left, &request.requested))),
    }
}

/// The families of the network, in the order of its definition. The pools tell them, so that no ADD reads the configuration.
fn families(pools: &[Pool]) -> Vec<AddressFamily> {
    let mut families: Vec<AddressFamily> =
        pools.iter().filter_map(|pool| AddressFamily::of(&pool.name)).collect();
    // The pools of a family are defined one after the other.
    families.dedup();
    families
}

/// The pools that the request may have addresses of, in the order of use.
fn offered<'a>(request: &Request, pools: &'a [Pool]) -> Vec<&'a Pool> {
    match request.attribute(POOLS) {
        None => pools.iter().collect(),
        Some(names) => {
            names.split(',').filter_map(|name| pools.iter().find(|pool| pool.name == name)).collect()
        }
    }
}

/// Why an address cannot be given beside the others that were requested.
fn left_over(left: IpAddr, requested: &[IpAddr]) -> String {
    let other = requested.iter().find(|other| **other != left && other.is_ipv4() == left.is_ipv4());
    match other {
        Some(other) => format!(
            "{other} and {left} are both requested, by CNI_ARGS, args.cni.ips or runtimeConfig.ips, and an interface gets one address of each family"
        ),
        None => format!("{left} is in no block of this node"),
    }
}

/// An address that the caller requires, with its pool.
fn insisted_on(address: IpAddr) -> Result<(u32, IpAddr), Refusal> {
    let why = match ledger::standing_of(address) {
        Standing::Free => match ledger::pool_of(address) {
            Some(pool) => return Ok((pool, address)),
            None => "is in no block of this node",
        },
        Standing::Held => "has another owner",
        Standing::Cooling => "was freed recently and is cooling down",
        Standing::Reserved => "is never handed out",
        Standing::Draining => "is in a block that is being given back",
        Standing::Outside => "is in no block of this node",
    };
    Err(Refusal::Unavailable(format!("{address} {why}")))
}

/// The next address of a pool: of its fullest block that has room, and of the first of equally full ones.
fn next(pool: &Pool) -> Option<IpAddr> {
    let with_room = pool.shelf().usage_by(BLOCK).filter(|(_, usage)| room(usage) > 0);
    let used = |usage: &ledger::Usage| usage.held.saturating_add(usage.cooling);
    let (block, _) = with_room.min_by_key(|(block, usage)| (Reverse(used(usage)), block.clone()))?;
    let shelf = pool.labelled(BLOCK, &block);
    // After the one that was handed out last, so that a freed address stays unused for as long as possible.
    shelf.free(shelf.last(), Direction::Ascending, 1).first().copied()
}

/// Why there is no address of a family.
fn nothing(request: &Request, family: AddressFamily, pools: &[&Pool]) -> Refusal {
    let mut is_full = request.attribute(SUPPLY_STATE) == Some(FULL);
    let mut words = format!("no {} address is free:", family.name());
    for (number, pool) in pools.iter().enumerate() {
        let (usage, comma) = (pool.shelf().usage(), if number == 0 { "" } else { "," });
        is_full &= usage.cooling == 0;
        words += &format!(
            "{comma} pool {} has {} of {} held and {} cooling down",
            pool.name, usage.held, usage.total, usage.cooling
        );
    }
    match is_full {
        true => Refusal::Exhausted(words),
        false => Refusal::not_yet(words),
    }
}
