//! Addresses for agents on the node and for its pods, from the same network.
//!
//! ```json
//! { "ranges": [[{ "subnet": "10.1.0.0/24" }, { "subnet": "10.1.9.0/28", "rangeAttributes": { "for": "agents" } }]],
//!   "agents": { "first": 4, "quota": { "cilium": 8, "*": 2 }, "fixed": { "cilium/router": "10.1.0.9" } },
//!   "fixed": { "shop/web-0": "10.1.0.10" } }
//! ```
//!
//! - `agents.fixed` gives an agent's claim (`AGENT/NAME`) one address of its own, and `fixed` a pod (`NAMESPACE/NAME`); nobody else
//!   ever gets it.
//! - A range with `"for": "agents"` is for agents only, and so are the first `agents.first` addresses of each other range set. Once
//!   these are used up, agents get what pods get.
//! - `agents.quota` bounds the claims of each agent; `*` is for agents that are not listed.
//! - Pods take the rest.

mod layout;

use std::net::IpAddr;

use tenure_sdk::ledger::{self, Pool, Standing, room};
use tenure_sdk::{
    Config, ConfigError, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration,
};

use self::layout::{AGENTS, EVERYBODY, FOR, agent_label, pod_label};

/// Agents beside pods.
#[derive(Debug)]
pub struct Delegated;

impl Policy for Delegated {
    fn define(config: &Config) -> Result<Definition, ConfigError> {
        let mut definition = Definition::new(configuration::ranges("ipam")?, Cooling::Preferred);
        layout::lay_out(&mut definition, config)?;
        Ok(definition)
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        let owner = AskingOwner::of(request);
        if let Some(agent) = owner.agent {
            check_quota(agent)?;
        }
        let mut requested = request.requested.clone();
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            let wanted = requested.iter().position(|address| ledger::pool_of(*address) == Some(pool.index));
            let address = match wanted.map(|position| requested.remove(position)) {
                Some(wanted) => owner.insists_on(wanted)?,
                None => owner.next(&pool)?,
            };
            proposal.assign(pool.index, address);
        }
        match requested.first() {
            Some(left) => Err(Refusal::Unavailable(format!(
                "{left} is in no range of this network, or a second of its pool"
            ))),
            None => Ok(proposal),
        }
    }
}

/// The owner that asks for addresses.
struct AskingOwner<'a> {
    agent: Option<&'a str>,
    /// The label of the address that is its own, if it has one.
    label: String,
}

impl<'a> AskingOwner<'a> {
    fn of(request: &'a Request) -> Self {
        let agent = request.attribute("owner.agent");
        let name = request.name().unwrap_or_default();
        Self { agent, label: if agent.is_some() { agent_label(&name) } else { pod_label(&name) } }
    }

    /// The labels of the ranges that it may have addresses of, its own first.
    fn labels(&self) -> impl Iterator<Item = &str> {
        let agents = self.agent.map(|_| AGENTS);
        [self.label.as_str()].into_iter().chain(agents).chain([EVERYBODY])
    }

    /// An address of a pool: its own, or else the next in turn of what it may have.
    fn next(&self, pool: &Pool) -> Result<IpAddr, Refusal> {
        let own = pool.labelled(FOR, &self.label);
        if own.usage().total > 0 {
            let taken = || Refusal::Unavailable(format!("the address of {} has another owner", self.label));
            return own.next_in_turn().ok_or_else(taken);
        }
        for label in self.labels().skip(1) {
            let shelf = pool.labelled(FOR, label);
            // Agents go on to everybody's addresses only when theirs are held: one that cools down is good enough for them.
            if room(&shelf.usage()) > 0
                && let Some(address) = shelf.next_in_turn()
            {
                return Ok(address);
            }
        }
        Err(Refusal::exhausted(format!("no address is free for {} in pool {}", self.label, pool.name)))
    }

    /// An address that the caller requires.
    fn insists_on(&self, address: IpAddr) -> Result<IpAddr, Refusal> {
        let range = ledger::range_of(address);
        let label = range.as_ref().and_then(|range| range.attributes.get(FOR)).unwrap_or_default();
        let may_be_had = matches!(ledger::standing_of(address), Standing::Free | Standing::Cooling);
        match may_be_had && self.labels().any(|own| own == label) {
            true => Ok(address),
            false => Err(Refusal::Unavailable(format!("{address} is not available to {}", self.label))),
        }
    }
}

/// Refuses an agent that has reached its quota. A claim counts once, however many addresses it has.
fn check_quota(agent: &str) -> Result<(), Refusal> {
    let root = configuration::get().root()?;
    let Some(quotas) = root.find("ipam.agents.quota")? else { return Ok(()) };
    let Some(quota) = quotas.get(agent)?.or(quotas.get("*")?) else { return Ok(()) };
    let quota = quota.count()?;
    if ledger::count_of("owner.agent", agent) < quota {
        return Ok(());
    }
    Err(Refusal::OverQuota(format!("agent {agent} has reached its quota of {quota}")))
}

tenure_sdk::export!(Delegated);
