//! Zones: a pod gets an address of its namespace's ranges, or of everybody's where these are full or there are none.
//!
//! A range says whose it is by `"rangeAttributes": {"namespace": "blue"}`; one that does not is everybody's.

use tenure_sdk::{Config, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration, ledger};

const LABEL: &str = "namespace";

/// Whose the ranges are that name no namespace; no namespace is called so.
const EVERYBODY: &str = "*";

/// Ranges by namespace, with a fallback.
#[derive(Debug)]
pub struct Zones;

impl Policy for Zones {
    fn define(_: &Config) -> Result<Definition, Refusal> {
        let mut definition = Definition::new(configuration::ranges("ipam")?, Cooling::Preferred);
        for range in definition.ranges_mut().filter(|range| range.attributes.get(LABEL).is_none()) {
            range.attributes.set(LABEL, EVERYBODY);
        }
        Ok(definition)
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        let namespace = request.attribute("pod.namespace").unwrap_or(EVERYBODY);
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            let of = |zone| pool.labelled(LABEL, zone).next_in_turn();
            let address = of(namespace).or_else(|| of(EVERYBODY));
            let full =
                || Refusal::exhausted(format!("nothing is free for {namespace} in pool {}", pool.name));
            proposal.assign(pool.index, address.ok_or_else(full)?);
        }
        Ok(proposal)
    }
}

tenure_sdk::export!(Zones);
