//! Zones: a pod gets an address from its namespace's ranges, or from the shared ones if these are full or there are
//! none.
//!
//! `"rangeAttributes": {"namespace": "blue"}` reserves a range for a namespace; a range without it is shared.

use tenure_sdk::prelude::*;

const LABEL: &str = "namespace";

/// The label's value for shared ranges; no namespace can have this name.
const EVERYBODY: &str = "*";

/// Assigns from ranges by namespace, with a fallback.
#[derive(Debug)]
pub struct Zones;

impl Policy for Zones {
    fn define(_: &Config) -> Result<Definition, ConfigError> {
        Ok(Definition::configured(Cooling::Preferred)?.with_label(LABEL, EVERYBODY))
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        let namespace = request.namespace().unwrap_or(EVERYBODY);
        Proposal::try_of_each(|pool| {
            let of = |zone| pool.labelled(LABEL, zone).next_in_turn();
            let full =
                || Refusal::exhausted(format!("no address is free for {namespace} in pool {}", pool.name));
            of(namespace).or_else(|| of(EVERYBODY)).ok_or_else(full)
        })
    }
}

tenure_sdk::export!(Zones);
