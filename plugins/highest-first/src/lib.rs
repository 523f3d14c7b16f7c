//! Assigns the highest free address of each range set: a complete policy, and a template for your own.

use tenure_sdk::ledger::{self, Direction};
use tenure_sdk::{
    Config, ConfigError, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration,
};

/// Assigns the highest free address first.
#[derive(Debug)]
pub struct HighestFirst;

impl Policy for HighestFirst {
    fn define(_: &Config) -> Result<Definition, ConfigError> {
        Ok(Definition::new(configuration::ranges("ipam")?, Cooling::Strict))
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        if let Some(address) = request.requested.first() {
            return Err(Refusal::Unavailable(format!(
                "{address}: highest-first does not support requested addresses"
            )));
        }
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            match pool.shelf().free(None, Direction::Descending, 1).first() {
                Some(highest) => proposal.assign(pool.index, *highest),
                None => {
                    let set = pool.shelf().range_set();
                    return Err(Refusal::exhausted(format!("no address is free in {set}")));
                }
            }
        }
        Ok(proposal)
    }
}

tenure_sdk::export!(HighestFirst);
