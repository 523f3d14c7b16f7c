//! Reads a policy's answer as untrusted data: parsed, bounded, and cleaned before it is shown.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use tenure_types::{
    Assignment, Attributes, Cooling, DefinedPool, Definition, Error, ErrorCode, InvalidAttributes,
    LONGEST_STATE, Need, Outcome, PolicyStamp, Pool, PoolName, Proposal, Range, RangeName, Supply, agreed,
};

use super::bindings::tenure::ipam::types;
use crate::embedded;
use crate::text::clean;

/// Why an answer is invalid.
#[derive(Debug, thiserror::Error)]
pub(super) enum Nonsense {
    /// A string that should be an address.
    #[error("it returned \"{0}\", which is not an address")]
    NotAnAddress(String),
    /// A string that should be a subnet.
    #[error("it returned \"{0}\", which is not a subnet")]
    NotASubnet(String),
    /// An invalid pool name.
    #[error(
        "it named a pool \"{0}\", which is not a valid name: use 1 to 64 letters, digits, '_', '.' and '-'"
    )]
    PoolName(String),
    /// An invalid range name.
    #[error(
        "it named a range \"{0}\", which is not a valid name: use 1 to 128 printable characters without spaces"
    )]
    RangeName(String),
    /// An invalid range.
    #[error("it returned an invalid range: {0}")]
    Range(#[from] tenure_types::RangeError),
    /// Attributes beyond the host's bounds.
    #[error("it returned invalid attributes of {of}: {}", clean(&.cause.to_string()))]
    Attributes {
        /// The subject of the attributes.
        of: &'static str,
        /// Why they are invalid.
        #[source]
        cause: InvalidAttributes,
    },
    /// An attribute whose name only the host sets.
    #[error("it set attribute {name} of {of}, but names that begin with {} are reserved for the host", agreed::RESERVED.join(", "))]
    Reserved {
        /// The subject of the attributes.
        of: &'static str,
        /// The name.
        name: String,
    },
    /// A case of a later version of the interface.
    #[error("it returned {what} that this version does not know: \"{name}\"")]
    Unknown {
        /// The kind of case.
        what: &'static str,
        /// The attribute's name.
        name: String,
    },
    /// A plan with too many effects.
    #[error("it plans {0} effects, and the limit is {1}")]
    LongPlan(usize, usize),
    /// An effect on a pool that the network does not have.
    #[error("it plans an effect on pool {0}, but the network has only {1}")]
    NoSuchPool(u32, usize),
    /// An effect of a kind that the policy was not granted.
    #[error("it plans the effect {0}, which `effects` in the policy's table of tenured.toml does not grant")]
    NotGranted(&'static str),
    /// A state that is too long to keep.
    #[error("its state is {0} bytes, and the limit is {1}")]
    LongState(usize, usize),
}

impl Nonsense {
    pub(super) fn unknown(what: &'static str, name: &str) -> Self {
        Self::Unknown { what, name: clean(name) }
    }
}

/// Reads a definition.
pub(super) fn definition(answer: &types::Definition) -> Result<Definition, Nonsense> {
    let cooling = match &answer.cooling {
        types::Cooling::Strict => Cooling::Strict,
        types::Cooling::Preferred => Cooling::Preferred,
        types::Cooling::Other(name) => return Err(Nonsense::unknown("a cooling mode", name)),
    };
    Ok(Definition {
        pools: answer.pools.iter().map(pool).collect::<Result<_, _>>()?,
        cooling,
        attributes: attributes("its definition", &answer.attributes)?,
    })
}

fn pool(pool: &types::PoolDefinition) -> Result<DefinedPool, Nonsense> {
    let supply = match &pool.supply {
        types::Supply::Configuration => Supply::Configuration,
        types::Supply::Host => Supply::Host,
        types::Supply::Other(name) => return Err(Nonsense::unknown("a pool supply", name)),
    };
    let need = match &pool.need {
        types::Need::Always => Need::Always,
        types::Need::Optional => Need::Optional,
        types::Need::Other(name) => return Err(Nonsense::unknown("a pool need", name)),
    };
    let name = PoolName::new(&pool.name).map_err(|_| Nonsense::PoolName(clean(&pool.name)))?;
    let attributes = attributes("a pool", &pool.attributes)?;
    let ranges = pool.ranges.iter().map(range).collect::<Result<_, Nonsense>>()?;
    Ok(DefinedPool { pool: Pool { name, supply, need, attributes }, ranges })
}

fn range(range: &types::AddressRange) -> Result<Range, Nonsense> {
    let subnet: IpNet = range.subnet.parse().map_err(|_| Nonsense::NotASubnet(clean(&range.subnet)))?;
    let gateway = range.gateway.as_deref().map(address).transpose()?;
    let (first, last) = (address(&range.first)?, address(&range.last)?);
    let made = Range::new(subnet, first, last, gateway, range.prefix_length)?;
    let made = made.with(attributes("a range", &range.attributes)?);
    match range.name.as_str() {
        "" => Ok(made),
        name => Ok(made.named(RangeName::new(name).map_err(|_| Nonsense::RangeName(clean(name)))?)),
    }
}

/// Reads a proposal.
pub(super) fn proposal(answer: &types::Proposal) -> Result<Proposal, Nonsense> {
    let assignment = |assignment: &types::Assignment| {
        Ok(Assignment {
            // The ledger rejects an index that does not fit, as it does any unknown pool.
            pool: usize::try_from(assignment.pool).unwrap_or(usize::MAX),
            address: address(&assignment.address)?,
            attributes: attributes("an address", &assignment.attributes)?,
        })
    };
    Ok(Proposal {
        assignments: answer.assignments.iter().map(assignment).collect::<Result<_, Nonsense>>()?,
        tags: tags(&answer.tags)?,
    })
}

/// Reads an answer with a state.
pub(super) fn outcome(answer: &types::Outcome) -> Result<Outcome, Nonsense> {
    let state = answer.state.as_deref().map(state).transpose()?;
    Ok(Outcome { proposal: proposal(&answer.proposal)?, state })
}

/// Reads a state that is short enough to keep.
pub(super) fn state(state: &[u8]) -> Result<Arc<[u8]>, Nonsense> {
    match state.len() {
        ..=LONGEST_STATE => Ok(state.into()),
        length => Err(Nonsense::LongState(length, LONGEST_STATE)),
    }
}

/// Reads attributes within the host's bounds, without names that only the host sets.
pub(super) fn attributes(of: &'static str, attributes: &[types::Attribute]) -> Result<Attributes, Nonsense> {
    if attributes.is_empty() {
        return Ok(Attributes::default());
    }
    if let Some(reserved) = attributes.iter().find(|attribute| agreed::is_reserved(&attribute.name)) {
        return Err(Nonsense::Reserved { of, name: clean(&reserved.name) });
    }
    Attributes::new(attributes.iter().map(|attribute| (&attribute.name, &attribute.value)))
        .map_err(|cause| Nonsense::Attributes { of, cause })
}

/// Reads tags. The ledger rejects those with a name of the host.
fn tags(tags: &[types::Attribute]) -> Result<Attributes, Nonsense> {
    Attributes::new(tags.iter().map(|tag| (&tag.name, &tag.value)))
        .map_err(|cause| Nonsense::Attributes { of: "an allocation", cause })
}

fn address(text: &str) -> Result<IpAddr, Nonsense> {
    text.parse().map_err(|_| Nonsense::NotAnAddress(clean(text)))
}

/// A policy's refusal as every caller sees it: the policy's text after its name and digest.
///
/// The embedded host-local uses the reference plugin's texts. CNI callers compare them as a whole, so they get them
/// unprefixed.
pub(super) fn refusal(stamp: &PolicyStamp, refusal: &types::Refusal) -> Error {
    let (code, text) = match refusal {
        types::Refusal::InvalidConfig(types::ConfigError { path, message, .. }) => {
            let message = said(message, "the network's configuration is wrong");
            let at = if path.is_empty() { String::new() } else { format!("{}: ", clean(path)) };
            (ErrorCode::InvalidConfig, format!("{at}{message}"))
        }
        types::Refusal::Exhausted(reason) => {
            (ErrorCode::PoolExhausted, said(&reason.message, "no address is free"))
        }
        types::Refusal::Unavailable(reason) => {
            (ErrorCode::AddressUnavailable, said(&reason.message, "a requested address is not available"))
        }
        types::Refusal::NotYet(types::Delay { message, retry_after_seconds, .. }) => {
            let after = retry_after_seconds.map(|seconds| format!("; ask again in {seconds} s"));
            let message = said(message, "no address is free yet");
            (ErrorCode::NotYet, format!("{message}{}", after.unwrap_or_default()))
        }
        types::Refusal::Denied(reason) => {
            (ErrorCode::RequestDenied, said(&reason.message, "a rule does not allow the request"))
        }
        types::Refusal::OverQuota(reason) => {
            (ErrorCode::OverQuota, said(&reason.message, "the owner has as much as it may have"))
        }
        types::Refusal::Other(reason) => {
            (ErrorCode::PolicyRefused, said(&reason.message, "it refused without a reason"))
        }
    };
    let error = Error::new(code, format_args!("policy {stamp}: {text}"));
    if embedded::is_host_local(stamp) { error.told_as(text) } else { error }
}

/// A policy's text, or `otherwise` if it is empty.
fn said(text: &str, otherwise: &str) -> String {
    if text.trim().is_empty() { otherwise.to_owned() } else { clean(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(name: &str, digest: &str) -> PolicyStamp {
        PolicyStamp { name: tenure_types::PolicyName::new(name).unwrap(), digest: digest.into() }
    }

    fn reason(message: &str) -> types::Reason {
        types::Reason { message: message.into(), attributes: Vec::new() }
    }

    fn delay(message: &str, retry_after_seconds: Option<u32>) -> types::Delay {
        types::Delay { message: message.into(), retry_after_seconds, attributes: Vec::new() }
    }

    fn told(stamp: &PolicyStamp, refused: &types::Refusal) -> (u32, String, Option<Box<str>>) {
        let error = refusal(stamp, refused);
        (error.code.cni(), error.cause, error.reference)
    }

    #[test]
    fn names_of_the_host_are_refused_everywhere_but_where_it_agreed_on_one() {
        let of = |name: &str| types::Attribute { name: name.into(), value: "prefixes".into() };
        for name in ["owner.kind", "pod.namespace", "policy.name", "supply.state", "time.utc", "tenure.new"] {
            let refused = attributes("a range", &[of("zone"), of(name)]).unwrap_err().to_string();
            assert!(refused.contains(&format!("it set attribute {name} of a range")), "{refused}");
        }
        for name in ["zone", "podium", "example.com/pod.x", agreed::ASSIGNS] {
            attributes("a range", &[of(name)]).unwrap();
        }
        assert_eq!(agreed::RESERVED, tenure_sdk_config::RESERVED, "the SDK has the same list");
    }

    #[test]
    fn every_refusal_names_the_policy_its_digest_and_a_reason() {
        let mine = stamp("mine", "0123456789abcdef");
        let config = |path: &str, message: &str| {
            let (path, message) = (path.into(), message.into());
            types::Refusal::InvalidConfig(types::ConfigError { path, message, attributes: Vec::new() })
        };
        for (refused, code, cause) in [
            (config("ipam.spare", "no address"), 7, "ipam.spare: no address"),
            (config("", "no ranges"), 7, "no ranges"),
            (config("", ""), 7, "the network's configuration is wrong"),
            (types::Refusal::Exhausted(reason("none left")), 101, "none left"),
            (types::Refusal::Exhausted(reason("")), 101, "no address is free"),
            (types::Refusal::Unavailable(reason("taken")), 102, "taken"),
            (types::Refusal::Unavailable(reason(" ")), 102, "a requested address is not available"),
            (types::Refusal::NotYet(delay("soon", None)), 11, "soon"),
            (types::Refusal::NotYet(delay("", Some(30))), 11, "no address is free yet; ask again in 30 s"),
            (types::Refusal::Denied(reason("no guests")), 124, "no guests"),
            (types::Refusal::Denied(reason("")), 124, "a rule does not allow the request"),
            (types::Refusal::OverQuota(reason("red has 3 of 3")), 125, "red has 3 of 3"),
            (types::Refusal::OverQuota(reason("")), 125, "the owner has as much as it may have"),
            (types::Refusal::Other(reason("quota")), 104, "quota"),
            (types::Refusal::Other(reason("")), 104, "it refused without a reason"),
        ] {
            assert_eq!(told(&mine, &refused), (code, format!("policy mine@0123456789ab: {cause}"), None));
        }
    }

    #[test]
    fn the_embedded_host_local_speaks_as_the_reference_and_no_other_policy_of_its_name() {
        let refused = || types::Refusal::Exhausted(reason("no IP addresses available in range set: x"));
        let embedded = stamp("host-local", &crate::sha256(embedded::HOST_LOCAL));
        let (_, cause, reference) = told(&embedded, &refused());
        assert_eq!(reference.as_deref(), Some("no IP addresses available in range set: x"));
        assert_eq!(cause, format!("policy {embedded}: no IP addresses available in range set: x"));
        assert_eq!(told(&stamp("host-local", "0123456789abcdef"), &refused()).2, None);
    }
}
