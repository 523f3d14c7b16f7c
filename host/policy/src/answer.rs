//! What a policy answered, read as a stranger's data: parsed, bounded, and never shown as it came.

use std::net::IpAddr;

use ipnet::IpNet;
use tenure_types::{Cooling, Definition, Error, ErrorCode, Pool, Proposal, Range};

use crate::bindings::exports::tenure::ipam::{allocation, network};
use crate::bindings::tenure::ipam::types;
use crate::text::clean;

/// Why an answer is not one: what the policy said that it cannot mean.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Nonsense {
    /// A text that should be an address.
    #[error("it answered with {0:?}, which is not an address")]
    NotAnAddress(String),
    /// A text that should be a subnet.
    #[error("it answered with {0:?}, which is not a subnet")]
    NotASubnet(String),
    /// A range that cannot be.
    #[error("it answered with a range that cannot be: {0}")]
    Range(#[from] tenure_types::RangeError),
    /// A kind of cooling of a later version.
    #[error("it wants addresses to cool in a way that this version does not know: {0:?}")]
    Cooling(String),
}

/// A definition as the ledger takes it.
pub(crate) fn definition(answer: network::Definition) -> Result<Definition, Nonsense> {
    let cooling = match answer.cooling {
        types::Cooling::Strict => Cooling::Strict,
        types::Cooling::Preferred => Cooling::Preferred,
        types::Cooling::Other(name) => return Err(Nonsense::Cooling(clean(&name))),
    };
    let pool = |pool: types::Pool| {
        Ok(Pool { ranges: pool.ranges.iter().map(range).collect::<Result<_, Nonsense>>()? })
    };
    Ok(Definition { pools: answer.pools.into_iter().map(pool).collect::<Result<_, Nonsense>>()?, cooling })
}

fn range(range: &types::AddressRange) -> Result<Range, Nonsense> {
    let subnet: IpNet = range.subnet.parse().map_err(|_| Nonsense::NotASubnet(clean(&range.subnet)))?;
    let gateway = range.gateway.as_deref().map(address).transpose()?;
    Ok(Range::new(subnet, address(&range.first)?, address(&range.last)?, gateway, range.prefix_length)?)
}

/// A proposal as the ledger checks it.
pub(crate) fn proposal(answer: &allocation::Proposal) -> Result<Proposal, Nonsense> {
    let assignment = |assignment: &allocation::Assignment| {
        // An index beyond the host's is no pool either.
        let pool = usize::try_from(assignment.pool).unwrap_or(usize::MAX);
        Ok((pool, address(&assignment.address)?))
    };
    Ok(Proposal { addresses: answer.assignments.iter().map(assignment).collect::<Result<_, Nonsense>>()? })
}

fn address(text: &str) -> Result<IpAddr, Nonsense> {
    text.parse().map_err(|_| Nonsense::NotAnAddress(clean(text)))
}

/// A policy's refusal in the shape that every caller sees.
pub(crate) fn refusal(refusal: types::Refusal) -> Error {
    match refusal {
        types::Refusal::InvalidConfig(types::ConfigError { path, message }) if path.is_empty() => {
            Error::new(ErrorCode::InvalidConfig, clean(&message))
        }
        types::Refusal::InvalidConfig(types::ConfigError { path, message }) => {
            Error::new(ErrorCode::InvalidConfig, format_args!("{}: {}", clean(&path), clean(&message)))
        }
        types::Refusal::Exhausted(text) => Error::new(ErrorCode::PoolExhausted, clean(&text)),
        types::Refusal::Unavailable(text) => Error::new(ErrorCode::AddressUnavailable, clean(&text)),
        types::Refusal::Other(text) => Error::new(ErrorCode::PolicyRefused, clean(&text)),
    }
}
