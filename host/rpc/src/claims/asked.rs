//! An agent's messages as the engine's requests.

use std::time::Duration;

use tenure_engine::Ask;
use tenure_ledger::{ClaimKey, Families, Wish};
use tenure_types::{AgentName, ClaimName, Error, ErrorCode, NetworkName, Result};

use crate::v1;

/// The most addresses of a claim: no network has more pools.
const MOST_ADDRESSES: usize = 64;

fn invalid(cause: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::ClaimInvalid, cause)
}

/// A claim as an agent asks for it.
pub(super) fn ask(spec: &v1::ClaimSpec) -> Result<Ask> {
    let mut families = Families::default();
    for family in &spec.families {
        match v1::Family::try_from(*family) {
            Ok(v1::Family::Ipv4) => families.ipv4 = true,
            Ok(v1::Family::Ipv6) => families.ipv6 = true,
            _ => return Err(invalid(format_args!("claim {}: unknown address family {family}", spec.name))),
        }
    }
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
            families,
            lease: (spec.lease_seconds > 0).then(|| Duration::from_secs(spec.lease_seconds.into())),
        },
    })
}

/// What identifies an agent's claim.
pub(super) fn key(agent: &AgentName, network: &str, name: &str) -> Result<ClaimKey> {
    let (network, name) =
        (NetworkName::new(network).map_err(invalid)?, ClaimName::new(name).map_err(invalid)?);
    Ok(ClaimKey { agent: agent.clone(), network, name })
}
