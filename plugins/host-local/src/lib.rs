//! The default policy, by the rules of the reference host-local plugin.
//!
//! Each grant has one address from each range set, in order. A range set hands out its addresses in turn: the next free one behind the
//! address that was handed out last, so that a freed address rests as long as it can; when nothing else is left, the
//! one that rested longest. A caller may insist on one address in each range set.

use std::net::IpAddr;

use tenure_sdk::ledger::{self, Direction, Standing};
use tenure_sdk::{Config, Cooling, Definition, Policy, Pool, Proposal, Refusal, Request, ranges};

/// The rules of host-local.
#[derive(Debug)]
pub struct HostLocal;

impl Policy for HostLocal {
    fn define(config: &Config) -> Result<Definition, Refusal> {
        Ok(Definition { pools: ranges::read(config)?, cooling: Cooling::Preferred })
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        let mut requested = request.requested.clone();
        let mut proposal = Proposal::new();
        for (index, pool) in ledger::pools() {
            let wanted = requested.iter().position(|address| pool.range_of(*address).is_some());
            let address = match wanted.map(|position| requested.remove(position)) {
                Some(wanted) => insisted_on(wanted, &pool)?,
                None => next_in_turn(index, &pool)?,
            };
            proposal.push((index, address));
        }
        if !requested.is_empty() {
            let list: String = requested.iter().map(|address| format!(" {address}")).collect();
            return Err(Refusal::Unavailable(format!("failed to allocate all requested IPs:{list}")));
        }
        Ok(proposal)
    }
}

fn insisted_on(address: IpAddr, pool: &Pool) -> Result<IpAddr, Refusal> {
    if pool.range_of(address).is_some_and(|range| range.gateway == Some(address)) {
        return Err(Refusal::Unavailable(format!("requested ip {address} is subnet's gateway")));
    }
    match ledger::standing_of(address) {
        Standing::Free | Standing::Cooling => Ok(address),
        Standing::Held | Standing::Reserved | Standing::Outside => Err(Refusal::Unavailable(format!(
            "requested IP address {address} is not available in range set {pool}"
        ))),
    }
}

fn next_in_turn(index: u32, pool: &Pool) -> Result<IpAddr, Refusal> {
    ledger::free(index, ledger::last(index), Direction::Ascending, 1)
        .first()
        .or(ledger::cooling(index, 1).first())
        .copied()
        .ok_or_else(|| Refusal::Exhausted(format!("no IP addresses available in range set: {pool}")))
}

tenure_sdk::export!(HostLocal);
