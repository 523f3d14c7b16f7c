//! The default policy, with the rules of the reference host-local plugin.
//!
//! Each allocation has one address from each range set, in order. A range set assigns its addresses in turn: the next
//! free one after the most recently assigned one, so that a freed address stays unused for as long as possible; if
//! none is free, the one that has been cooling down the longest. A caller may request one address in each range set.
//!
//! A range set with `delegatedPrefixLength`, which the reference plugin does not have, assigns prefixes to agents' claims; pods get
//! nothing from it.

use std::net::IpAddr;

use tenure_sdk::ledger::{self, Pool, Standing};
use tenure_sdk::{
    Config, ConfigError, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration,
};

/// The rules of host-local.
#[derive(Debug)]
pub struct HostLocal;

impl Policy for HostLocal {
    fn define(_: &Config) -> Result<Definition, ConfigError> {
        Ok(Definition::new(configuration::ranges("ipam")?, Cooling::Preferred))
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        let mut requested = request.requested.clone();
        let mut proposal = Proposal::new();
        for pool in ledger::pools().filter(|pool| request.is_claim() || !pool.assigns_prefixes()) {
            let wanted = requested.iter().position(|address| ledger::pool_of(*address) == Some(pool.index));
            let address = match wanted.map(|position| requested.remove(position)) {
                Some(wanted) => insisted_on(wanted, &pool)?,
                None => pool.shelf().next_in_turn().ok_or_else(|| exhausted(&pool))?,
            };
            proposal.assign(pool.index, address);
        }
        if !requested.is_empty() {
            let list: String = requested.iter().map(|address| format!(" {address}")).collect();
            return Err(Refusal::Unavailable(format!("failed to allocate all requested IPs:{list}")));
        }
        if proposal.assignments.is_empty() {
            let text = "the network has prefixes only, which are for agents' claims";
            return Err(Refusal::Denied(text.into()));
        }
        Ok(proposal)
    }
}

fn insisted_on(address: IpAddr, pool: &Pool) -> Result<IpAddr, Refusal> {
    if ledger::range_of(address).is_some_and(|range| range.gateway == Some(address)) {
        return Err(Refusal::Unavailable(format!("requested ip {address} is subnet's gateway")));
    }
    match ledger::standing_of(address) {
        Standing::Free | Standing::Cooling => Ok(address),
        Standing::Held | Standing::Reserved | Standing::Draining | Standing::Outside => {
            let set = pool.shelf().range_set();
            let text = format!("requested IP address {address} is not available in range set {set}");
            Err(Refusal::Unavailable(text))
        }
    }
}

fn exhausted(pool: &Pool) -> Refusal {
    Refusal::exhausted(format!("no IP addresses available in range set: {}", pool.shelf().range_set()))
}

tenure_sdk::export!(HostLocal);
