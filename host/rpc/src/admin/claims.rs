//! The claims of agents: listing them, and ending one at an operator's request.

use std::net::IpAddr;

use tenure_engine::{AgentStanding, Engine};
use tenure_ledger::ClaimKey;
use tenure_types::{AgentName, ClaimName, End, Error, ErrorCode, NetworkName, Result};

use super::release::LONGEST_REASON;
use crate::claims::claim;
use crate::v1;

pub(super) fn list(engine: &Engine, request: &v1::ListAllClaimsRequest) -> Result<v1::ListAllClaimsResponse> {
    let agent = match request.agent.as_str() {
        "" => None,
        name => Some(AgentName::new(name).map_err(invalid)?),
    };
    let claims = engine.claims_of(agent.as_ref());
    let mut awaited = engine.witnessed_claims();
    awaited.retain(|claim| claim.is_awaited && agent.as_ref().is_none_or(|agent| claim.key.agent == *agent));
    let is_empty = claims.is_empty() && awaited.is_empty();
    if let Some(agent) = agent.filter(|agent| is_empty && !engine.has_agent(agent)) {
        let cause = format_args!("no agent {agent} is configured, and none of that name has a claim");
        return Err(Error::new(ErrorCode::AgentUnknown, cause));
    }
    let shown = claims.iter().map(|claimed| claim(claimed, engine.now()));
    let to_restore = awaited.iter().map(|awaited| v1::Claim {
        scope: awaited.claimant.scope.as_ref().map(ToString::to_string).unwrap_or_default(),
        holder: awaited.claimant.holder.as_ref().map(ToString::to_string).unwrap_or_default(),
        ..to_restore(&awaited.key, &awaited.addresses)
    });
    let standings = claims.iter().map(|claimed| standing(engine.standing(&claimed.claim)));
    let unheard = awaited.iter().map(|awaited| v1::AgentStanding {
        orphaned: !engine.has_agent(&awaited.key.agent),
        ..v1::AgentStanding::default()
    });
    Ok(v1::ListAllClaimsResponse {
        claims: shown.chain(to_restore).collect(),
        standings: standings.chain(unheard).collect(),
    })
}

fn standing(of: AgentStanding) -> v1::AgentStanding {
    v1::AgentStanding {
        last_heard_ms: of.last_heard.map_or(0, |heard| heard.wall_ms),
        watches: u32::try_from(of.watches).unwrap_or(u32::MAX),
        orphaned: of.is_orphaned,
    }
}

pub(super) async fn release(
    engine: &Engine,
    request: &v1::ReleaseClaimOfRequest,
) -> Result<v1::ReleaseClaimOfResponse> {
    let key = ClaimKey {
        agent: AgentName::new(&request.agent).map_err(invalid)?,
        network: NetworkName::new(&request.network).map_err(invalid)?,
        name: ClaimName::new(&request.name).map_err(invalid)?,
    };
    let Some(claimed) = engine.claimed(&key) else {
        // It may be in the state that was lost.
        engine.has_state()?;
        let other = request.generation.filter(|meant| *meant != 0);
        let awaited = engine.give_up_awaited(&key, request.apply && other.is_none()).await?;
        if let Some(meant) = other.filter(|_| awaited.is_some()) {
            let cause = format_args!(
                "{key} is of the state that was lost, and has no generation {meant}; it was not released"
            );
            return Err(Error::new(ErrorCode::ClaimSuperseded, cause));
        }
        return Ok(v1::ReleaseClaimOfResponse {
            claim: awaited.map(|addresses| to_restore(&key, &addresses)),
        });
    };
    let (shown, has) = (claim(&claimed, engine.now()), claimed.claim.generation);
    if let Some(meant) = request.generation.filter(|meant| *meant != has.0) {
        let cause = format_args!("{key} has generation {has} by now, and not {meant}; it was not released");
        return Err(Error::new(ErrorCode::ClaimSuperseded, cause));
    }
    if request.apply {
        let book = engine.book(&key.network).await;
        let held = book.as_ref().and_then(|book| book.owned_by(&key.owner()));
        if let Some(held) = held.filter(|held| held.generation == claimed.claim.generation) {
            let words: String = request.reason.chars().take(LONGEST_REASON).collect();
            engine.reap(held, End::Operator, &words).await?;
        }
    }
    Ok(v1::ReleaseClaimOfResponse { claim: Some(shown) })
}

/// A claim of a lost state that is still to be restored, as far as it is known.
fn to_restore(key: &ClaimKey, addresses: &[IpAddr]) -> v1::Claim {
    let address = |address: &IpAddr| v1::ClaimAddress { address: address.to_string(), ..Default::default() };
    v1::Claim {
        agent: key.agent.to_string(),
        network: key.network.to_string(),
        name: key.name.to_string(),
        addresses: addresses.iter().map(address).collect(),
        reserved: true,
        ..v1::Claim::default()
    }
}

fn invalid(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::ClaimInvalid, error)
}
