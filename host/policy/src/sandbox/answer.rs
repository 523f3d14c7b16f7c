//! What a policy answered, read as a stranger's data: parsed, bounded, and never shown as it came.

use std::net::IpAddr;

use ipnet::IpNet;
use tenure_types::{
    Attributes, Cooling, DefinedPool, Definition, Error, ErrorCode, PolicyStamp, Pool, Proposal, Range,
};

use super::bindings::exports::tenure::ipam::{allocation, network};
use super::bindings::tenure::ipam::types;
use crate::embedded;
use crate::text::clean;

/// Why an answer is not one: what the policy said that it cannot mean.
#[derive(Debug, thiserror::Error)]
pub(super) enum Nonsense {
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
pub(super) fn definition(answer: network::Definition) -> Result<Definition, Nonsense> {
    let cooling = match answer.cooling {
        types::Cooling::Strict => Cooling::Strict,
        types::Cooling::Preferred => Cooling::Preferred,
        types::Cooling::Other(name) => return Err(Nonsense::Cooling(clean(&name))),
    };
    let pool = |(index, pool): (usize, types::Pool)| {
        let ranges = pool.ranges.iter().map(range).collect::<Result<_, Nonsense>>()?;
        Ok(DefinedPool { pool: Pool::numbered(index), ranges })
    };
    let pools = answer.pools.into_iter().enumerate().map(pool).collect::<Result<_, Nonsense>>()?;
    Ok(Definition { pools, cooling, attributes: Attributes::default() })
}

fn range(range: &types::AddressRange) -> Result<Range, Nonsense> {
    let subnet: IpNet = range.subnet.parse().map_err(|_| Nonsense::NotASubnet(clean(&range.subnet)))?;
    let gateway = range.gateway.as_deref().map(address).transpose()?;
    Ok(Range::new(subnet, address(&range.first)?, address(&range.last)?, gateway, range.prefix_length)?)
}

/// A proposal as the ledger checks it.
pub(super) fn proposal(answer: &allocation::Proposal) -> Result<Proposal, Nonsense> {
    let assignment = |assignment: &allocation::Assignment| {
        // An index beyond the host's is no pool either.
        let pool = usize::try_from(assignment.pool).unwrap_or(usize::MAX);
        Ok((pool, address(&assignment.address)?))
    };
    Ok(Proposal::of(answer.assignments.iter().map(assignment).collect::<Result<Vec<_>, Nonsense>>()?))
}

fn address(text: &str) -> Result<IpAddr, Nonsense> {
    text.parse().map_err(|_| Nonsense::NotAnAddress(clean(text)))
}

/// A policy's refusal in the shape that every caller sees: its own text behind its name and digest.
///
/// The embedded host-local repeats the reference plugin's texts, which CNI callers compare as a whole, so they are told them bare.
pub(super) fn refusal(stamp: &PolicyStamp, refusal: types::Refusal) -> Error {
    let (code, text) = match refusal {
        types::Refusal::InvalidConfig(types::ConfigError { path, message }) => {
            let message = said(&message, "the network's configuration is wrong");
            let at = if path.is_empty() { String::new() } else { format!("{}: ", clean(&path)) };
            (ErrorCode::InvalidConfig, format!("{at}{message}"))
        }
        types::Refusal::Exhausted(text) => (ErrorCode::PoolExhausted, said(&text, "no address is free")),
        types::Refusal::Unavailable(text) => {
            (ErrorCode::AddressUnavailable, said(&text, "a requested address is not available"))
        }
        types::Refusal::Other(text) => (ErrorCode::PolicyRefused, said(&text, "it refused without a reason")),
    };
    let error = Error::new(code, format_args!("policy {stamp}: {text}"));
    if embedded::is_host_local(stamp) { error.told_as(text) } else { error }
}

/// A policy's text, or what stands for an empty one.
fn said(text: &str, otherwise: &str) -> String {
    if text.trim().is_empty() { otherwise.to_owned() } else { clean(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(name: &str, digest: &str) -> PolicyStamp {
        PolicyStamp { name: tenure_types::PolicyName::new(name).unwrap(), digest: digest.into() }
    }

    fn told(stamp: &PolicyStamp, refused: types::Refusal) -> (u32, String, Option<Box<str>>) {
        let error = refusal(stamp, refused);
        (error.code.cni(), error.cause, error.reference)
    }

    #[test]
    fn every_refusal_names_the_policy_its_digest_and_a_reason() {
        let mine = stamp("mine", "0123456789abcdef");
        let config = |path: &str, message: &str| {
            types::Refusal::InvalidConfig(types::ConfigError { path: path.into(), message: message.into() })
        };
        for (refused, code, cause) in [
            (config("ipam.spare", "no address"), 7, "ipam.spare: no address"),
            (config("", "no ranges"), 7, "no ranges"),
            (config("", ""), 7, "the network's configuration is wrong"),
            (types::Refusal::Exhausted("none left".into()), 101, "none left"),
            (types::Refusal::Exhausted(String::new()), 101, "no address is free"),
            (types::Refusal::Unavailable("taken".into()), 102, "taken"),
            (types::Refusal::Unavailable(" ".into()), 102, "a requested address is not available"),
            (types::Refusal::Other("quota".into()), 104, "quota"),
            (types::Refusal::Other(String::new()), 104, "it refused without a reason"),
        ] {
            assert_eq!(told(&mine, refused), (code, format!("policy mine@0123456789ab: {cause}"), None));
        }
    }

    #[test]
    fn the_embedded_host_local_speaks_as_the_reference_and_no_other_policy_of_its_name() {
        let refused = || types::Refusal::Exhausted("no IP addresses available in range set: x".into());
        let embedded = stamp("host-local", &crate::sha256(embedded::HOST_LOCAL));
        let (_, cause, reference) = told(&embedded, refused());
        assert_eq!(reference.as_deref(), Some("no IP addresses available in range set: x"));
        assert_eq!(cause, format!("policy {embedded}: no IP addresses available in range set: x"));
        assert_eq!(told(&stamp("host-local", "0123456789abcdef"), refused()).2, None);
    }
}
