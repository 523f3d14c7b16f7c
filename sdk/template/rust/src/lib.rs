//! Assigns the addresses of each pool in turn.

use tenure_sdk::{Config, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration, ledger};

/// The policy.
pub struct InTurn;

impl Policy for InTurn {
    /// Called when a network is created, or its configuration changes: turns the configuration into pools.
    fn define(_: &Config) -> Result<Definition, Refusal> {
        Ok(Definition::new(configuration::ranges("ipam")?, Cooling::Preferred))
    }

    /// Called for each request: proposes an address of each pool.
    fn propose(_: &Request) -> Result<Proposal, Refusal> {
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            let full = || Refusal::exhausted(format!("no address is free in pool {}", pool.name));
            proposal.assign(pool.index, pool.shelf().next_in_turn().ok_or_else(full)?);
        }
        Ok(proposal)
    }
}

tenure_sdk::export!(InTurn);
