//! Converts the SDK's types to the ledger's, with the checks that the host makes of an answer.

use std::fmt::Display;

use ipnet::IpNet;
use tenure_sdk as sdk;
use tenure_types::{
    Assignment, Attributes, Cooling, DefinedPool, Definition, Error, ErrorCode, Need, Pool, PoolName,
    Proposal, Range, RangeName, Request, Supply,
};

/// The most effects of one plan.
const MOST_EFFECTS: usize = 256;

/// A request as a policy sees it; the interface's description lists the attributes.
pub(crate) fn request(request: &Request) -> sdk::Request {
    let mut attributes = sdk::Attributes::new().with("owner.kind", request.owner.kind());
    if let Some((container, interface)) = request.owner.attachment() {
        attributes.set("owner.container", container.as_str());
        attributes.set("owner.interface", interface.as_str());
    }
    if let Some((agent, claim)) = request.owner.claim() {
        attributes.set("owner.agent", agent.as_str());
        attributes.set("owner.claim", claim.as_str());
    }
    if let Some(pod) = &request.sandbox.pod {
        attributes.set("pod.namespace", &*pod.namespace);
        attributes.set("pod.name", &*pod.name);
        attributes.set("pod.uid", &*pod.uid);
    }
    if request.supply_full {
        attributes.set("supply.state", "full");
    }
    if let Some(pools) = &request.context.pools {
        let names: Vec<&str> = pools.iter().map(PoolName::as_str).collect();
        attributes.set("supply.pools", names.join(","));
    }
    for (name, value) in request.context.metadata.iter() {
        attributes.set(&**name, &**value);
    }
    let (network, requested) = (request.network.as_str().into(), request.requested.clone());
    sdk::Request { network, requested, attributes }
}

/// A definition, if the host would accept its form.
pub(crate) fn definition(definition: sdk::Definition) -> Result<Definition, Error> {
    Ok(Definition {
        pools: definition.pools.into_iter().map(pool).collect::<Result<_, _>>()?,
        cooling: match definition.cooling {
            sdk::Cooling::Strict => Cooling::Strict,
            sdk::Cooling::Preferred => Cooling::Preferred,
        },
        attributes: attributes(&definition.attributes)?,
    })
}

fn pool(pool: sdk::PoolDefinition) -> Result<DefinedPool, Error> {
    let supply = match pool.supply {
        sdk::Supply::Configuration => Supply::Configuration,
        sdk::Supply::Host => Supply::Host,
        sdk::Supply::Other(name) => return Err(failed(format_args!("it returned a pool supply {name:?}"))),
    };
    let need = match pool.need {
        sdk::Need::Always => Need::Always,
        sdk::Need::Optional => Need::Optional,
        sdk::Need::Other(name) => return Err(failed(format_args!("it returned a pool need {name:?}"))),
    };
    let (name, attributes) = (PoolName::new(&pool.name).map_err(failed)?, attributes(&pool.attributes)?);
    let ranges = pool.ranges.0.iter().map(range).collect::<Result<_, _>>()?;
    Ok(DefinedPool { pool: Pool { name, supply, need, attributes }, ranges })
}

pub(crate) fn range(range: &sdk::Range) -> Result<Range, Error> {
    let subnet: IpNet = range.subnet.to_string().parse().map_err(failed)?;
    let made =
        Range::new(subnet, range.first, range.last, range.gateway, range.prefix_length).map_err(failed)?;
    let made = made.with(attributes(&range.attributes)?);
    match range.name.as_str() {
        "" => Ok(made),
        name => Ok(made.named(RangeName::new(name).map_err(failed)?)),
    }
}

/// A proposal, if the host would accept its form.
pub(crate) fn proposal(proposal: sdk::Proposal) -> Result<Proposal, Error> {
    let assignment = |assignment: sdk::Assignment| {
        Ok(Assignment {
            pool: usize::try_from(assignment.pool).unwrap_or(usize::MAX),
            address: assignment.address,
            attributes: attributes(&assignment.attributes)?,
        })
    };
    Ok(Proposal {
        assignments: proposal.assignments.into_iter().map(assignment).collect::<Result<_, Error>>()?,
        tags: attributes(&proposal.tags)?,
    })
}

/// A plan, if the host would accept its form.
pub(crate) fn plan(plan: Vec<sdk::Effect>, pools: usize) -> Result<Vec<sdk::Effect>, Error> {
    if plan.len() > MOST_EFFECTS {
        let cause = format_args!("it plans {} effects, and the limit is {MOST_EFFECTS}", plan.len());
        return Err(failed(cause));
    }
    for effect in &plan {
        if let sdk::EffectKind::Other(name) = &effect.kind {
            return Err(failed(format_args!(
                "it returned an effect that this version does not know: {name:?}"
            )));
        }
        if usize::try_from(effect.pool).is_ok_and(|pool| pool >= pools) {
            let pool = effect.pool;
            let cause =
                format_args!("it returned an effect on pool {pool}, but the network has only {pools}");
            return Err(failed(cause));
        }
        attributes(&effect.attributes)?;
    }
    Ok(plan)
}

/// A refusal as the host's error, without the policy's name in front.
pub(crate) fn refusal(refusal: sdk::Refusal) -> Error {
    match refusal {
        sdk::Refusal::InvalidConfig(error) => Error::new(ErrorCode::InvalidConfig, error),
        sdk::Refusal::Exhausted(text) => Error::new(ErrorCode::PoolExhausted, text),
        sdk::Refusal::Unavailable(text) => Error::new(ErrorCode::AddressUnavailable, text),
        sdk::Refusal::NotYet(sdk::Delay { message, .. }) => Error::new(ErrorCode::NotYet, message),
        sdk::Refusal::Denied(text) => Error::new(ErrorCode::RequestDenied, text),
        sdk::Refusal::OverQuota(text) => Error::new(ErrorCode::OverQuota, text),
        sdk::Refusal::Other(text) => Error::new(ErrorCode::PolicyRefused, text),
    }
}

fn attributes(attributes: &sdk::Attributes) -> Result<Attributes, Error> {
    Attributes::new(attributes.iter()).map_err(failed)
}

fn failed(cause: impl Display) -> Error {
    Error::new(ErrorCode::PolicyFailed, cause)
}
