//! Delegated: names have fixed addresses, and agents have their own ranges, which they use first.
//!
//! `"fixed": {"cilium/router": "10.1.2.1"}` gives an agent's claim or a pod (`NAMESPACE/NAME`) one address, which
//! must be in a range's subnet and outside all ranges; `"rangeAttributes": {"for": "agents"}` reserves a range for
//! agents.

use tenure_sdk::ledger::{self, Pool, room};
use tenure_sdk::{
    Config, ConfigError, Cooling, Definition, Node, Policy, Proposal, Range, Refusal, Request, configuration,
};

const FOR: &str = "for";
const AGENTS: &str = "agents";
const EVERYBODY: &str = "*";

/// Fixed addresses by name, agents first.
#[derive(Debug)]
pub struct Delegated;

impl Policy for Delegated {
    fn define(config: &Config) -> Result<Definition, ConfigError> {
        let mut definition = Definition::new(configuration::ranges("ipam")?, Cooling::Preferred);
        for range in definition.ranges_mut().filter(|range| range.attributes.get(FOR).is_none()) {
            range.attributes.set(FOR, EVERYBODY);
        }
        let fixed = config.root()?.get("fixed")?.map(|fixed| fixed.entries()).transpose()?;
        for (name, address) in fixed.unwrap_or_default() {
            fix(&mut definition, &name, &address)?;
        }
        Ok(definition)
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            proposal.assign(pool.index, address(&pool, request)?);
        }
        Ok(proposal)
    }
}

/// Gives a name its own range of one address, next to the ranges of the same subnet.
fn fix(definition: &mut Definition, name: &str, node: &Node) -> Result<(), ConfigError> {
    let address = node.address()?.ok_or_else(|| node.wrong("an address is missing"))?;
    for pool in &mut definition.pools {
        if let Some(range) = pool.ranges.0.iter().find(|range| range.subnet.contains(address)) {
            let mut only = Range { gateway: range.gateway, ..Range::new(range.subnet, address, address) };
            only.attributes.set(FOR, name);
            pool.ranges.0.push(only);
            return Ok(());
        }
    }
    Err(node.wrong(format!("{address} is in no range's subnet")))
}

fn address(pool: &Pool, request: &Request) -> Result<std::net::IpAddr, Refusal> {
    let name = request.name().unwrap_or_default();
    let fixed = pool.labelled(FOR, &name);
    if fixed.usage().total > 0 {
        let taken = || Refusal::Unavailable(format!("the address of {name} is held by another owner"));
        return fixed.next_in_turn().ok_or_else(taken);
    }
    let agents = pool.labelled(FOR, AGENTS);
    let is_agent = request.attribute("owner.agent").is_some() && room(&agents.usage()) > 0;
    let shelf = if is_agent { agents } else { pool.labelled(FOR, EVERYBODY) };
    let full = || Refusal::exhausted(format!("no address is free for {name} in pool {}", pool.name));
    shelf.next_in_turn().ok_or_else(full)
}

tenure_sdk::export!(Delegated);
