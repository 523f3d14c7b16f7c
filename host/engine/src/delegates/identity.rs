//! The names by which a delegate knows an owner.

use std::hash::Hasher;

use tenure_ledger::Delegation;
use tenure_types::{
    ContainerId, DelegateCall, Error, ErrorCode, InterfaceName, NetworkName, Owner, PodIdentity, Result,
};

/// The beginning of the container ids that stand for claims.
const OF_CLAIMS: &str = "tenure-claim-";

/// The interface that is named for claims.
const INTERFACE: &str = "eth0";

/// Whether a container id may be that of a claim, and is therefore none of a pod: a delegate could not tell them apart.
pub(crate) fn is_of_claims(container: &ContainerId) -> bool {
    container.as_str().starts_with(OF_CLAIMS)
}

/// Refuses an owner whose container id may be that of a claim.
///
/// # Errors
/// `InvalidEnvironment`.
pub(crate) fn check_owner(owner: &Owner) -> Result<()> {
    match owner {
        Owner::Attachment { container, .. } if is_of_claims(container) => {
            let cause = format_args!(
                "CNI_CONTAINERID {container} begins with {OF_CLAIMS}, which is reserved for the claims of agents"
            );
            Err(Error::new(ErrorCode::InvalidEnvironment, cause))
        }
        _ => Ok(()),
    }
}

/// The container id and the interface of an owner.
///
/// A claim's container id is the same for ever: `tenure-claim-AGENT-NETWORK-NAME-` and a number that tells claims apart whose
/// names have the separator in them, or are cut.
pub(super) fn names(network: &NetworkName, owner: &Owner) -> Result<(ContainerId, InterfaceName)> {
    let defect = |error| Error::new(ErrorCode::Internal, error);
    match owner {
        Owner::Attachment { container, interface } => Ok((container.clone(), interface.clone())),
        Owner::Claim { agent, name } => {
            let mut number = Fnv(0xcbf2_9ce4_8422_2325);
            for part in [agent.as_str(), network.as_str(), name.as_str()] {
                number.write(part.as_bytes());
                number.write(&[0]);
            }
            let plain = format!("{OF_CLAIMS}{agent}-{network}-{name}");
            // Names are ASCII.
            let plain = plain.get(..plain.len().min(200)).unwrap_or_default();
            let container = ContainerId::new(format!("{plain}-{:016x}", number.finish())).map_err(defect)?;
            Ok((container, InterfaceName::new(INTERFACE).map_err(defect)?))
        }
        Owner::Unknown { address } => {
            let cause = format_args!("no delegate can be asked for the unknown owner of {address}");
            Err(Error::new(ErrorCode::Internal, cause))
        }
    }
}

/// The call for a delegation.
pub(super) fn call(delegation: &Delegation, pod: Option<PodIdentity>) -> DelegateCall {
    DelegateCall {
        network: delegation.network.clone(),
        ipam: (&*delegation.ipam).into(),
        container: delegation.container.clone(),
        interface: delegation.interface.clone(),
        netns: delegation.netns.clone(),
        pod,
        requested: Vec::new(),
    }
}

/// A call about a network as a whole, which names no attachment.
pub(super) fn about(network: &NetworkName, ipam: &str) -> Result<DelegateCall> {
    let defect = |error| Error::new(ErrorCode::Internal, error);
    Ok(DelegateCall {
        network: network.clone(),
        ipam: ipam.into(),
        container: ContainerId::new("tenure").map_err(defect)?,
        interface: InterfaceName::new(INTERFACE).map_err(defect)?,
        netns: "".into(),
        pod: None,
        requested: Vec::new(),
    })
}

/// FNV-1a with 64 bits: the same on each machine and in each version.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_types::{AgentName, ClaimName};

    use super::*;

    fn id(agent: &str, network: &str, name: &str) -> String {
        let (agent, name) = (AgentName::new(agent).unwrap(), ClaimName::new(name).unwrap());
        let network = NetworkName::new(network).unwrap();
        names(&network, &Owner::Claim { agent, name }).unwrap().0.to_string()
    }

    #[test]
    fn a_claims_container_id_is_its_own_for_ever() {
        assert_eq!(id("cilium", "pods", "router"), "tenure-claim-cilium-pods-router-e9f1c3c3998d9cbf");
        assert_ne!(id("a-b", "c", "d"), id("a", "b-c", "d"));
        let long = "n".repeat(255);
        let (one, other) = (id(&"a".repeat(64), &long, &"x".repeat(128)), id(&"a".repeat(64), &long, "x"));
        assert_ne!(one, other);
    }
}
