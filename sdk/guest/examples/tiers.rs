//! Tiers: a pod gets an address from the ranges of its label `tier`, and one without the label from the shared ones.
//!
//! `"rangeAttributes": {"tier": "gold"}` reserves a range for a tier; a range without it is shared. The operator grants the label with
//! `metadata = ["pod.label.tier"]` in `[policies.tiers]`.

use tenure_sdk::prelude::*;

const LABEL: &str = "tier";

/// The label's value for shared ranges; no label of a pod can have it.
const EVERYBODY: &str = "*";

/// Assigns from ranges by a label of the pod.
#[derive(Debug)]
pub struct Tiers;

impl Policy for Tiers {
    fn define(_: &Config) -> Result<Definition, ConfigError> {
        Ok(Definition::configured(Cooling::Preferred)?.with_label(LABEL, EVERYBODY))
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        let tier = request.attribute("pod.label.tier").unwrap_or(EVERYBODY);
        Proposal::try_of_each(|pool| {
            let full =
                || Refusal::exhausted(format!("no address is free for tier {tier} in pool {}", pool.name));
            pool.labelled(LABEL, tier).next_in_turn().ok_or_else(full)
        })
    }
}

tenure_sdk::export!(Tiers);
