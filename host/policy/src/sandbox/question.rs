//! Converts the input of a call into the types of the policy's interface.

use tenure_types::{NetworkConfig, NetworkName, PoolName, Request};

use super::bindings::tenure::ipam::types;
use super::grants::Grants;
use super::to_wit::attribute;

/// A network's configuration as a policy sees it.
pub(super) fn configuration(network: &NetworkName, config: &NetworkConfig) -> types::Config {
    types::Config {
        name: network.as_str().into(),
        ipam: config.ipam.clone(),
        attributes: config.attributes.iter().map(|(name, value)| attribute(name, value)).collect(),
    }
}

/// A request as a policy with these grants sees it.
pub(super) fn question(request: &Request, grants: &Grants) -> types::Request {
    types::Request {
        network: request.network.as_str().into(),
        requested: request.requested.iter().map(ToString::to_string).collect(),
        attributes: attributes(request, grants),
    }
}

/// The attributes of a request; `wit/README.md` lists their names.
fn attributes(request: &Request, grants: &Grants) -> Vec<types::Attribute> {
    let mut attributes = vec![attribute("owner.kind", request.owner.kind())];
    if let Some((container, interface)) = request.owner.attachment() {
        attributes.push(attribute("owner.container", container.as_str()));
        attributes.push(attribute("owner.interface", interface.as_str()));
    }
    if let Some((agent, claim)) = request.owner.claim() {
        attributes.push(attribute("owner.agent", agent.as_str()));
        attributes.push(attribute("owner.claim", claim.as_str()));
    }
    if let Some(pod) = &request.sandbox.pod {
        attributes.push(attribute("pod.namespace", &pod.namespace));
        attributes.push(attribute("pod.name", &pod.name));
        attributes.push(attribute("pod.uid", &pod.uid));
    }
    if request.supply_full {
        attributes.push(attribute("supply.state", "full"));
    }
    if let Some(pools) = &request.context.pools {
        let names: Vec<&str> = pools.iter().map(PoolName::as_str).collect();
        attributes.push(attribute("supply.pools", &names.join(",")));
    }
    let granted = request
        .context
        .metadata
        .iter()
        .filter(|(name, _)| grants.metadata.iter().any(|known| **known == **name));
    attributes.extend(granted.map(|(name, value)| attribute(name, value)));
    attributes
}
