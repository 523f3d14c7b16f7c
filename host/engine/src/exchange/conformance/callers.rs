//! The callers of the suite: usual pods, and those that a policy's author may not have thought of.

use tenure_types::{
    AgentName, ClaimName, ContainerId, InterfaceName, Moment, NetworkName, Owner, PodIdentity, Request,
    RequestContext, Sandbox,
};

/// A usual request of the suite.
pub(super) fn request(network: &NetworkName, number: u32) -> Request {
    let pod = PodIdentity {
        namespace: format!("team-{}", number % 3).as_str().into(),
        name: format!("web-{number}").into(),
        uid: format!("uid-{number}").into(),
    };
    request_of(network, format!("container-{number}"), Some(pod))
}

fn request_of(network: &NetworkName, container: String, pod: Option<PodIdentity>) -> Request {
    // Both names are valid; an invalid one would only make two requests one.
    let owner = match (ContainerId::new(container), InterfaceName::new("eth0")) {
        (Ok(container), Ok(interface)) => Owner::Attachment { container, interface },
        _ => Owner::Unknown { address: std::net::Ipv4Addr::UNSPECIFIED.into() },
    };
    request_by(network, owner, pod)
}

fn request_by(network: &NetworkName, owner: Owner, pod: Option<PodIdentity>) -> Request {
    Request {
        network: network.clone(),
        owner,
        requested: Vec::new(),
        sandbox: Sandbox { pod, ..Sandbox::default() },
        supply_full: false,
        context: RequestContext::default(),
        requested_at: Moment::default(),
    }
}

/// Callers that a policy's author may not have thought of.
pub(super) fn unusual(network: &NetworkName) -> Vec<Request> {
    let pod = |namespace: &str, name: &str| {
        Some(PodIdentity { namespace: namespace.into(), name: name.into(), uid: "".into() })
    };
    let long = "n".repeat(253);
    let mut requests: Vec<_> = [
        None,
        pod("", ""),
        pod("default", ""),
        pod("", "web-0"),
        pod(&long, &long),
        pod("été/..", "\u{1f980} \"quoted\" \\ {}"),
        pod("default", "web-18446744073709551616"),
    ]
    .into_iter()
    .zip(0..)
    .map(|(pod, number)| request_of(network, format!("unusual-{number}"), pod))
    .collect();
    if let (Ok(agent), Ok(name)) = (AgentName::new("agent"), ClaimName::new("router")) {
        requests.push(request_by(network, Owner::Claim { agent, name }, None));
    }
    requests
}
