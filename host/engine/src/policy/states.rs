//! The state that a policy keeps on a network: the facts that change it.
//!
//! A network's state changes only in its turn, so a fact can be made from the state that was read before.

use std::sync::Arc;

use tenure_ledger::{PolicyState, StateFact, States};
use tenure_types::{Moment, NetworkName, PolicyStamp};

/// The present state of a network as a policy sees it: only its own.
pub(crate) fn present(
    states: &States,
    network: &NetworkName,
    policy: &PolicyStamp,
    now: Moment,
) -> PolicyState {
    match states.of(network).map(|memory| &memory.now) {
        Some(state) if state.policy.digest == policy.digest => state.clone(),
        other => nothing(other.map_or(0, |other| other.version), policy, now),
    }
}

/// The state of a policy that has kept none.
pub(crate) fn nothing(version: u64, policy: &PolicyStamp, at: Moment) -> PolicyState {
    PolicyState { policy: policy.clone(), version, bytes: Arc::default(), at }
}

/// The fact that a policy's answer makes of the state it was asked with; `None` if that stays.
pub(crate) fn kept(
    network: &NetworkName,
    before: &PolicyState,
    bytes: Option<Arc<[u8]>>,
    at: Moment,
) -> Option<StateFact> {
    let bytes = bytes.filter(|bytes| *bytes != before.bytes)?;
    let (policy, version) = (before.policy.clone(), before.version + 1);
    Some(StateFact::Kept { network: network.clone(), state: PolicyState { policy, version, bytes, at } })
}

/// The fact that returns a network to the state before its last change.
pub(crate) fn undone(states: &States, network: &NetworkName, before: PolicyState) -> StateFact {
    let version = states.of(network).map_or(before.version, |memory| memory.now.version) + 1;
    StateFact::Undone { network: network.clone(), state: PolicyState { version, ..before } }
}

/// The fact that forgets a network's states, if it has any.
pub(crate) fn forgotten(states: &States, network: &NetworkName, at: Moment) -> Option<StateFact> {
    states.of(network).map(|_| StateFact::Forgotten { network: network.clone(), at })
}
