//! Gives each pod the highest free address of each range set: a whole policy, to begin one's own from.

use tenure_sdk::ledger::{self, Direction};
use tenure_sdk::{Config, Cooling, Definition, Policy, Proposal, Refusal, Request, ranges};

/// The highest free address first.
#[derive(Debug)]
pub struct HighestFirst;

impl Policy for HighestFirst {
    fn define(config: &Config) -> Result<Definition, Refusal> {
        Ok(Definition { pools: ranges::read(config)?, cooling: Cooling::Strict })
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        if let Some(address) = request.requested.first() {
            return Err(Refusal::Unavailable(format!("{address}: highest-first takes no requests")));
        }
        let mut proposal = Proposal::new();
        for (index, pool) in ledger::pools() {
            match ledger::free(index, None, Direction::Descending, 1).first() {
                Some(highest) => proposal.push((index, *highest)),
                None => return Err(Refusal::Exhausted(format!("no address is free in {pool}"))),
            }
        }
        Ok(proposal)
    }
}

tenure_sdk::export!(HighestFirst);
