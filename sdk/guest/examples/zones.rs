//! Zones: a pod gets an address from its namespace's ranges, or from the shared ones if these are full or there are
//! none.
//!
//! `"rangeAttributes": {"namespace": "blue"}` reserves a range for a namespace; a range without it is shared.

use tenure_sdk::{Config, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration, ledger};

const LABEL: &str = "namespace";

/// The label's value for shared ranges; no namespace can have this name.
const EVERYBODY: &str = "*";

/// Assigns from ranges by namespace, with a fallback.
#[derive(Debug)]
pub struct Zones;

impl Policy for Zones {
    fn define(_: &Config) -> Result<Definition, Refusal> {
        let definition = Definition::new(configuration::ranges("ipam")?, Cooling::Preferred);
        Ok(definition.with_label(LABEL, EVERYBODY))
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        let namespace = request.attribute("pod.namespace").unwrap_or(EVERYBODY);
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            let of = |zone| pool.labelled(LABEL, zone).next_in_turn();
            let address = of(namespace).or_else(|| of(EVERYBODY));
            let full =
                || Refusal::exhausted(format!("no address is free for {namespace} in pool {}", pool.name));
            proposal.assign(pool.index, address.ok_or_else(full)?);
        }
        Ok(proposal)
    }
}

tenure_sdk::export!(Zones);
