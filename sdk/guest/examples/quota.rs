//! A quota: no namespace holds more than its share. `"quota": {"*": 10, "blue": 3}`; `*` is for namespaces that are
//! not listed.

use tenure_sdk::prelude::*;

/// Limits the number of pods per namespace.
#[derive(Debug)]
pub struct Quota;

impl Policy for Quota {
    fn define(config: &Config) -> Result<Definition, ConfigError> {
        for (_, quota) in config.root()?.get_entries("quota")? {
            quota.count()?;
        }
        Definition::configured(Cooling::Preferred)
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        if let Some(namespace) = request.namespace() {
            check(namespace)?;
        }
        Proposal::of_each(Pool::next_in_turn)
    }
}

/// Refuses a namespace that has reached its quota. A pod counts once, however many addresses it has.
fn check(namespace: &str) -> Result<(), Refusal> {
    let Some(quotas) = configuration::root()?.get("quota")? else { return Ok(()) };
    let Some(quota) = quotas.get_count(namespace)?.or(quotas.get_count("*")?) else { return Ok(()) };
    if ledger::count_of("pod.namespace", namespace) < quota {
        return Ok(());
    }
    Err(Refusal::over_quota(format!("namespace {namespace} has reached its quota of {quota}")))
}

tenure_sdk::export!(Quota);
