//! What a policy is asked, in the words of its interface.

use tenure_types::{NetworkConfig, NetworkName, Request};

use super::bindings::exports::tenure::ipam::{allocation, network};
use super::bindings::tenure::ipam::types::Attribute;

/// A network's configuration as a policy gets it.
pub(super) fn configuration(network: &NetworkName, config: &NetworkConfig) -> network::Config {
    network::Config {
        name: network.as_str().into(),
        ipam: config.ipam.clone(),
        attributes: config.attributes.iter().map(|(name, value)| attribute(name, value)).collect(),
    }
}

/// A request as a policy gets it.
pub(super) fn question(request: &Request) -> allocation::Request {
    allocation::Request {
        requested: request.requested.iter().map(ToString::to_string).collect(),
        attributes: attributes(request),
    }
}

/// What a policy may know of a request; `wit/README.md` lists the names.
fn attributes(request: &Request) -> Vec<Attribute> {
    let mut attributes = Vec::new();
    if let Some((container, interface)) = request.owner.attachment() {
        attributes.push(attribute("container-id", container.as_str()));
        attributes.push(attribute("interface", interface.as_str()));
    }
    if let Some(pod) = &request.sandbox.pod {
        attributes.push(attribute("pod.namespace", &pod.namespace));
        attributes.push(attribute("pod.name", &pod.name));
        attributes.push(attribute("pod.uid", &pod.uid));
    }
    attributes
}

fn attribute(name: &str, value: &str) -> Attribute {
    Attribute { name: name.into(), value: value.into() }
}
