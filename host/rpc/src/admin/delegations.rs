//! The addresses that delegates were asked for.

use tenure_engine::{Engine, Pending};

use crate::v1;

pub(super) fn list(engine: &Engine) -> v1::ListDelegationsResponse {
    v1::ListDelegationsResponse { delegations: engine.delegations().iter().map(shown).collect() }
}

fn shown(Pending { delegation, phase, attempts, why }: &Pending) -> v1::Delegation {
    let addresses = delegation.given.iter().flat_map(|given| &given.addresses);
    v1::Delegation {
        network: delegation.network.to_string(),
        delegate: delegation.delegate.to_string(),
        owner: delegation.owner.to_string(),
        container_id: delegation.container.to_string(),
        interface: delegation.interface.to_string(),
        addresses: addresses.map(ToString::to_string).collect(),
        phase: phase.name().to_owned(),
        since_ms: delegation.since.wall_ms,
        attempts: *attempts,
        problem: why.clone(),
    }
}
