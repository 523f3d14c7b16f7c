//! A quota: no namespace holds more than its share. `"quota": {"*": 10, "blue": 3}`; `*` is for namespaces that are
//! not listed.

use tenure_sdk::{Config, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration, ledger};

/// Limits the number of pods per namespace.
#[derive(Debug)]
pub struct Quota;

impl Policy for Quota {
    fn define(config: &Config) -> Result<Definition, Refusal> {
        let quotas = config.root()?.get("quota")?.map(|quotas| quotas.entries()).transpose()?;
        for (_, quota) in quotas.unwrap_or_default() {
            quota.count()?;
        }
        Ok(Definition::new(configuration::ranges("ipam")?, Cooling::Preferred))
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        if let Some(namespace) = request.attribute("pod.namespace") {
            check(namespace)?;
        }
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            let full = || Refusal::exhausted(format!("no address is free in pool {}", pool.name));
            proposal.assign(pool.index, pool.shelf().next_in_turn().ok_or_else(full)?);
        }
        Ok(proposal)
    }
}

/// Refuses a namespace that has reached its quota. A pod counts once, however many addresses it has.
fn check(namespace: &str) -> Result<(), Refusal> {
    let Some(quotas) = configuration::get().root()?.get("quota")? else { return Ok(()) };
    let Some(quota) = quotas.get(namespace)?.or(quotas.get("*")?) else { return Ok(()) };
    let quota = quota.count()?;
    if ledger::count_of("pod.namespace", namespace) < quota {
        return Ok(());
    }
    Err(Refusal::exhausted(format!("namespace {namespace} has reached its quota of {quota}")))
}

tenure_sdk::export!(Quota);
