//! An agent's messages as the engine's requests.

use std::time::Duration;

use tenure_engine::{Agent, Ask, ClaimFilter, Precondition};
use tenure_ledger::{ClaimKey, Claimant, Families, Wish};
use tenure_types::{
    AgentName, ClaimName, Error, ErrorCode, Generation, HolderName, NetworkName, Result, ScopeName,
};

use crate::v1;

/// The most addresses of a claim: no network has more pools.
const MOST_ADDRESSES: usize = 64;

fn invalid(cause: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::ClaimInvalid, cause)
}

/// A claim as a component of an agent asks for it.
pub(super) fn ask(spec: &v1::ClaimSpec, scope: Option<&ScopeName>) -> Result<Ask> {
    if spec.addresses.len() > MOST_ADDRESSES {
        return Err(invalid(format_args!("claim {}: more than {MOST_ADDRESSES} addresses", spec.name)));
    }
    let address = |text: &String| {
        text.parse().map_err(|_| invalid(format_args!("claim {}: {text:?} is not an IP address", spec.name)))
    };
    Ok(Ask {
        network: NetworkName::new(&spec.network).map_err(invalid)?,
        name: ClaimName::new(&spec.name).map_err(invalid)?,
        wish: Wish {
            addresses: spec.addresses.iter().map(address).collect::<Result<_>>()?,
            families: families(spec, &spec.families)?,
            optional: families(spec, &spec.optional_families)?,
            claimant: Claimant { scope: scope.cloned(), holder: holder(&spec.holder)? },
            lease: (spec.lease_seconds > 0).then(|| Duration::from_secs(spec.lease_seconds.into())),
        },
    })
}

fn families(spec: &v1::ClaimSpec, asked: &[i32]) -> Result<Families> {
    let mut families = Families::default();
    for family in asked {
        match v1::Family::try_from(*family) {
            Ok(v1::Family::Ipv4) => families.ipv4 = true,
            Ok(v1::Family::Ipv6) => families.ipv6 = true,
            _ => return Err(invalid(format_args!("claim {}: unknown address family {family}", spec.name))),
        }
    }
    Ok(families)
}

/// The component that calls; `None` if it names none.
pub(super) fn scope(name: &str) -> Result<Option<ScopeName>> {
    (!name.is_empty()).then(|| ScopeName::new(name)).transpose().map_err(invalid)
}

/// The claims that a caller is interested in.
pub(super) fn filter(name: Option<&str>) -> Result<ClaimFilter> {
    Ok(match name {
        None => ClaimFilter::All,
        Some(name) => ClaimFilter::Scope(scope(name)?),
    })
}

/// An agent as a component of it that calls.
pub(super) fn component(agent: Agent, scope_name: &str, from_scope: Option<&str>) -> Result<Agent> {
    Ok(Agent { scope: scope(scope_name)?, from_scope: from_scope.map(scope).transpose()?, ..agent })
}

/// Reads the precondition of a release.
pub(super) fn precondition(request: &v1::ReleaseClaimRequest) -> Result<Precondition> {
    let holder = match &request.holder {
        None => None,
        Some(name) => Some(HolderName::new(name).map_err(invalid)?),
    };
    Ok(Precondition { scope: scope(&request.scope)?, generation: request.generation.map(Generation), holder })
}

fn holder(name: &str) -> Result<Option<HolderName>> {
    (!name.is_empty()).then(|| HolderName::new(name)).transpose().map_err(invalid)
}

/// Builds the key of an agent's claim.
pub(super) fn key(agent: &AgentName, network: &str, name: &str) -> Result<ClaimKey> {
    let (network, name) =
        (NetworkName::new(network).map_err(invalid)?, ClaimName::new(name).map_err(invalid)?);
    Ok(ClaimKey { agent: agent.clone(), network, name })
}
