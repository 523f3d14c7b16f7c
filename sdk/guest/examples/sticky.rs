//! Sticky: a name gets the address that it had last, unless somebody else holds it. All others get the next address
//! in turn, so that an address stays unused for as long as possible.

use std::net::IpAddr;

use tenure_sdk::ledger::{self, Pool, Standing};
use tenure_sdk::{
    Config, ConfigError, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration,
};

/// Gives the same name the same address.
#[derive(Debug)]
pub struct Sticky;

impl Policy for Sticky {
    fn define(_: &Config) -> Result<Definition, ConfigError> {
        // A restarted pod usually returns before its address has cooled down.
        Ok(Definition::new(configuration::ranges("ipam")?, Cooling::Preferred))
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        let had = request.name().map(|name| ledger::last_of(&name)).unwrap_or_default();
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            let full = || Refusal::exhausted(format!("no address is free in pool {}", pool.name));
            let address = again(&had, &pool).or_else(|| pool.shelf().next_in_turn());
            proposal.assign(pool.index, address.ok_or_else(full)?);
        }
        Ok(proposal)
    }
}

/// The address of a pool that the name had last, if it may have it again.
fn again(had: &[(u32, IpAddr)], pool: &Pool) -> Option<IpAddr> {
    let (_, address) = had.iter().find(|(index, _)| *index == pool.index)?;
    matches!(ledger::standing_of(*address), Standing::Free | Standing::Cooling).then_some(*address)
}

tenure_sdk::export!(Sticky);
