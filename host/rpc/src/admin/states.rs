//! The states that policies keep on a network.

use std::sync::Arc;

use tenure_engine::{Engine, ReplaceState};
use tenure_ledger::PolicyState;
use tenure_types::Result;

use super::exchange::{named, to_the_end};
use super::shown::{policy_ref, unknown_network};
use crate::v1;

pub(super) async fn get(engine: &Engine, network: &str) -> Result<v1::GetPolicyStateResponse> {
    let network = named(network)?;
    let memory = engine.states_of(&network).await?;
    let served = engine.policies_of(&network).ok_or_else(|| unknown_network(network.as_str()))?;
    Ok(v1::GetPolicyStateResponse {
        now: memory.as_ref().map(|memory| state(&memory.now)),
        before: memory.iter().flat_map(|memory| &memory.before).map(state).collect(),
        serves: Some(policy_ref(&served.now.policy)),
    })
}

pub(super) async fn replace(
    engine: &Arc<Engine>,
    request: v1::ReplacePolicyStateRequest,
) -> Result<v1::ReplacePolicyStateResponse> {
    let v1::ReplacePolicyStateRequest { network, state: bytes, if_version, reason } = request;
    let (engine, network) = (Arc::clone(engine), named(&network)?);
    let replace = ReplaceState { network, bytes, if_version, reason };
    let now = to_the_end(async move { engine.replace_state(&replace).await }).await?;
    Ok(v1::ReplacePolicyStateResponse { now: Some(state(&now)) })
}

fn state(state: &PolicyState) -> v1::PolicyState {
    v1::PolicyState {
        policy: Some(policy_ref(&state.policy)),
        version: state.version,
        at_ms: state.at.wall_ms,
        state: state.bytes.to_vec(),
    }
}
