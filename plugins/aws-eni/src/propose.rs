//! Proposals: an address of each pool, from the fullest interface and the fullest prefix that have room.
//!
//! So others become empty, and can be given back. Cooling addresses are never proposed.

use std::cmp::Reverse;
use std::net::IpAddr;

use tenure_sdk::ledger::{self, Direction, Pool, Shelf, Standing, room};
use tenure_sdk::{Proposal, Refusal, Request};

use crate::names::{DEVICE, FULL, INTERFACE, PRIMARY_DEVICE, SUPPLY_STATE};
use crate::settings::AwsSettings;
use crate::supply::RangeUnit;

/// Proposes an address of each pool.
///
/// # Errors
/// [`Refusal::NotYet`] if a pool has nothing free and more can come, [`Refusal::Exhausted`] if not, and
/// [`Refusal::Unavailable`] for a requested address.
pub fn propose(settings: &AwsSettings, request: &Request) -> Result<Proposal, Refusal> {
    let mut requested = request.requested.clone();
    if let Some(outside) = requested.iter().find(|address| ledger::pool_of(**address).is_none()) {
        return Err(Refusal::Unavailable(format!("{outside} is on no interface of this node")));
    }
    let mut proposal = Proposal::new();
    for pool in ledger::pools() {
        let wanted = requested.iter().position(|address| ledger::pool_of(*address) == Some(pool.index));
        let address = match wanted.map(|position| requested.remove(position)) {
            Some(wanted) => insisted_on(wanted)?,
            None => next(settings, &pool).ok_or_else(|| nothing(settings, request, &pool))?,
        };
        proposal.assign(pool.index, address);
    }
    match requested.first() {
        None => Ok(proposal),
        Some(left) => {
            Err(Refusal::Unavailable(format!("{left}: only one address can be requested from each pool")))
        }
    }
}

/// An address that the caller requires.
fn insisted_on(address: IpAddr) -> Result<IpAddr, Refusal> {
    let why = match ledger::standing_of(address) {
        Standing::Free => return Ok(address),
        Standing::Held => "has another owner",
        Standing::Cooling => "was freed recently and is cooling down",
        Standing::Reserved => "is never handed out",
        Standing::Draining => "is being given back",
        Standing::Outside => "is on no interface of this node",
    };
    Err(Refusal::Unavailable(format!("{address} {why}")))
}

/// The next address of a pool: of its fullest interface that has room, and of the primary one before all others, since
/// that cannot be given back. Of a custom network, the primary one serves no pods, even before the host has closed its ranges.
fn next(settings: &AwsSettings, pool: &Pool) -> Option<IpAddr> {
    let shelf = pool.shelf();
    if room(&shelf.usage()) == 0 {
        return None;
    }
    for label in [DEVICE, INTERFACE] {
        let mut with_room: Vec<_> = shelf.usage_by(label).filter(|(_, usage)| room(usage) > 0).collect();
        if label == DEVICE && settings.custom_network && !with_room.is_empty() {
            with_room.retain(|(value, _)| value != PRIMARY_DEVICE);
            if with_room.is_empty() {
                return None;
            }
        }
        let fullest = with_room.into_iter().min_by_key(|(value, usage)| {
            let used = usage.held.saturating_add(usage.cooling);
            (value != PRIMARY_DEVICE, Reverse(used), value.clone())
        });
        if let Some((value, _)) = fullest {
            return on(settings, &pool.labelled(label, &value));
        }
    }
    // Ranges about which the host says nothing.
    on(settings, &shelf)
}

/// The next address of an interface: of the kind that the node is configured for, and of the fullest range.
fn on(settings: &AwsSettings, shelf: &Shelf) -> Option<IpAddr> {
    let own = if settings.prefixes { RangeUnit::Prefix } else { RangeUnit::Address };
    let with_room = shelf.ranges().filter(|view| view.is_open && room(&view.usage) > 0);
    // Of several, the first.
    let fullest = with_room.min_by_key(|view| (RangeUnit::of(&view.range) != own, room(&view.usage)))?;
    let first = fullest.range.first;
    match ledger::standing_of(first) {
        Standing::Free => Some(first),
        _ => shelf.free(Some(first), Direction::Ascending, 1).first().copied(),
    }
}

/// Why there is no address of a pool.
fn nothing(settings: &AwsSettings, request: &Request, pool: &Pool) -> Refusal {
    let usage = pool.shelf().usage();
    let words = format!(
        "no address of pool {} is free: {} of {} are held, {} are cooling down",
        pool.name, usage.held, usage.total, usage.cooling
    );
    // What is attached may not have been read yet.
    let is_fixed = settings.fixed && usage.total > 0;
    let is_full = is_fixed || request.attribute(SUPPLY_STATE) == Some(FULL);
    match is_full && usage.cooling == 0 {
        true => Refusal::Exhausted(words),
        false => Refusal::not_yet(words),
    }
}
